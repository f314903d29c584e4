// Messages in memory: filled by the sender, checked byte by byte by the receiver.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// The share of a node's available memory that the buffers of its ranks may take.
constexpr double kPartForBuffers = 0.9;

// The byte at that index of the message with that key: differs between neighbouring keys, and
// between positions a line or a page apart, so that misplaced pieces show.
inline unsigned char message_byte(std::size_t index, std::size_t key) {
  return static_cast<unsigned char>(index * 31 + (index >> 6) * 7 + (index >> 12) * 13 + key * 101);
}

// Bytes sent in each direction in one operation, as seen by one rank of a pair.
struct Sizes {
  std::size_t outgoing = 0;
  std::size_t incoming = 0;
};

// A row of places for messages, in memory owned elsewhere, each followed by guard bytes that must
// not change. If there is only one place, all messages share it.
class MessageRow {
 public:
  static constexpr std::size_t kGuard = 64;

  // Bytes of a row of `places` for messages up to that size.
  static std::size_t memory(std::size_t largest, std::size_t places) {
    return stride(largest) * places;
  }

  MessageRow() = default;
  MessageRow(unsigned char* start, std::size_t largest, std::size_t places)
      : start_(start), step_(places > 1 ? stride(largest) : 0), places_(places) {}

  // A row of the same form in other memory.
  MessageRow moved_to(unsigned char* start) const {
    MessageRow other = *this;
    other.start_ = start;
    return other;
  }

  unsigned char* at(std::size_t place) const { return start_ + offset(place); }
  // From the start of the row; also valid if this rank knows only the partner's row.
  std::size_t offset(std::size_t place) const { return step_ * place; }
  std::size_t places() const { return places_; }

  // Fills every place up to the end of a message of that size and its guard: with messages that
  // differ per place, `way` being 0 or 1; or with bytes all of which differ from these.
  void write(std::size_t size, std::size_t round, std::size_t way) const {
    fill(size, round, way, 0);
  }
  void blank(std::size_t size, std::size_t round, std::size_t way) const {
    fill(size, round, way, 0xff);
  }

  // Number of bytes of blanked places that differ from those that messages of that size must leave.
  std::int64_t wrong(std::size_t size, std::size_t round, std::size_t way) const {
    std::int64_t found = 0;
    for (std::size_t place = 0; place < places_; ++place) {
      const unsigned char* bytes = at(place);
      const std::size_t key = key_of(round, way, place);
      for (std::size_t i = 0; i < size; ++i) found += bytes[i] != message_byte(i, key) ? 1 : 0;
      for (std::size_t i = size; i < size + kGuard; ++i) {
        found += bytes[i] != static_cast<unsigned char>(~message_byte(i, key)) ? 1 : 0;
      }
    }
    return found;
  }

 private:
  static constexpr std::size_t kLine = 64;

  static std::size_t stride(std::size_t largest) {
    return (largest + kGuard + kLine - 1) / kLine * kLine;
  }

  std::size_t key_of(std::size_t round, std::size_t way, std::size_t place) const {
    return 2 * (round * places_ + place) + way;
  }

  void fill(std::size_t size, std::size_t round, std::size_t way, unsigned char flipped) const {
    for (std::size_t place = 0; place < places_; ++place) {
      unsigned char* bytes = at(place);
      const std::size_t key = key_of(round, way, place);
      for (std::size_t i = 0; i < size + kGuard; ++i) {
        bytes[i] = static_cast<unsigned char>(message_byte(i, key) ^ flipped);
      }
    }
  }

  unsigned char* start_ = nullptr;
  std::size_t step_ = 0;
  std::size_t places_ = 0;
};

}  // namespace assay
