#include "memory/random_stream.hpp"

#include <vector>

#include "tests/unit/check.hpp"

using namespace assay::random_access;

TEST(jumping_ahead_meets_the_stream) {
  std::uint64_t a = 1;
  for (std::uint64_t k = 0; k < 1000; ++k, a = next(a)) CHECK_EQUAL(element(k), a);
  // x^64 = x^2 + x + 1 by the polynomial, and (x^64)^2 = x^4 + x^2 + 1 over {0, 1}.
  CHECK_EQUAL(element(64), std::uint64_t{7});
  CHECK_EQUAL(element(128), std::uint64_t{21});
  CHECK_EQUAL(product(element(1'000'000'007), element(123'456'789'012)), element(124'456'789'019));
}

TEST(the_stream_does_not_soon_repeat) {
  CHECK(element((std::uint64_t{1} << 40) + 1) != element(1));
  CHECK(element((std::uint64_t{1} << 62)) != element(0));
}

TEST(updates_go_where_the_highest_bits_say) {
  for (const int bits : {1, 3, 10}) {
    const std::size_t elements = std::size_t{1} << bits;
    CHECK_EQUAL(shift_of(elements), 64 - bits);
    std::vector<std::uint64_t> table(elements, 0);
    std::vector<std::uint64_t> expected(elements, 0);
    update(table.data(), shift_of(elements), element(500), 300);
    for (std::uint64_t k = 500; k < 800; ++k) {
      const std::uint64_t a = element(k);
      std::size_t place = 0;
      for (int bit = 63; bit > 63 - bits; --bit) place = 2 * place + ((a >> bit) & 1);
      expected[place] ^= a;
    }
    CHECK(table == expected);
  }
}
