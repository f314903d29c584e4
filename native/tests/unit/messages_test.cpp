#include "network/messages.hpp"

#include <cstring>
#include <initializer_list>

#include "tests/unit/check.hpp"

using namespace assay;

// Every wrong byte in a row of messages is counted, within and behind them.
TEST(every_wrong_byte_of_a_message_row_is_counted) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65}}) {
    for (const std::size_t places : {std::size_t{1}, std::size_t{3}}) {
      std::vector<unsigned char> sent(MessageRow::memory(size, places));
      std::vector<unsigned char> got(sent.size());
      const MessageRow from(sent.data(), size, places);
      const MessageRow to(got.data(), size, places);
      from.write(size, 4, 1);
      to.blank(size, 4, 1);
      // Nothing has arrived: everything is missing.
      CHECK_EQUAL(to.wrong(size, 4, 1), static_cast<std::int64_t>(size * places));
      for (std::size_t i = 0; i < places; ++i) {
        if (size > 0) std::memcpy(to.at(i), from.at(i), size);
      }
      CHECK_EQUAL(to.wrong(size, 4, 1), 0);
      for (std::size_t i = 0; i < places; ++i) {
        for (std::size_t byte = 0; byte < size + MessageRow::kGuard; ++byte) {
          to.at(i)[byte] ^= 0x40;
          CHECK_EQUAL(to.wrong(size, 4, 1), 1);
          to.at(i)[byte] ^= 0x40;
        }
      }
    }
  }
}

TEST(messages_of_other_rounds_ways_and_places_differ_in_every_byte) {
  std::vector<unsigned char> bytes(MessageRow::memory(100, 4));
  const MessageRow row(bytes.data(), 100, 4);
  row.write(100, 2, 0);
  for (std::size_t i = 0; i < 100; ++i) {
    for (std::size_t place = 1; place < 4; ++place) CHECK(row.at(0)[i] != row.at(place)[i]);
  }
  const std::vector<unsigned char> before = bytes;
  for (const auto& [round, way] : {std::pair{3, 0}, std::pair{2, 1}}) {
    row.write(100, static_cast<std::size_t>(round), static_cast<std::size_t>(way));
    for (std::size_t i = 0; i < 100; ++i) CHECK(bytes[i] != before[i]);
  }
}
