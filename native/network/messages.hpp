// Messages in memory: what a sender fills in, and what a receiver must find, byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// The buffers of a node's ranks may take this part of the memory available there.
constexpr double kPartForBuffers = 0.9;

// The byte at that index of the message with that key: differs between neighbouring keys, and
// between bytes a line or a page apart, so that misplaced pieces show.
inline unsigned char message_byte(std::size_t index, std::size_t key) {
  return static_cast<unsigned char>(index * 31 + (index >> 6) * 7 + (index >> 12) * 13 + key * 101);
}

// Bytes that travel one way and the other in one operation, as one rank of a pair sees it.
struct Sizes {
  std::size_t outgoing = 0;
  std::size_t incoming = 0;
};

// Places for messages in a row, in memory that somebody else owns, each with bytes after it that
// must stay as they are. Where there is only one place, all messages share it.
class MessageRow {
 public:
  static constexpr std::size_t kGuard = 64;

  // Bytes that a row of `places` for messages up to that size takes.
  static std::size_t memory(std::size_t largest, std::size_t places) {
    return stride(largest) * places;
  }

  MessageRow() = default;
  MessageRow(unsigned char* start, std::size_t largest, std::size_t places)
      : start_(start), step_(places > 1 ? stride(largest) : 0), places_(places) {}

  unsigned char* at(std::size_t place) const { return start_ + offset(place); }
  // From the start of the row, also where this rank knows only the other's row.
  std::size_t offset(std::size_t place) const { return step_ * place; }
  std::size_t places() const { return places_; }

  // Fills every place as far as a message of that size and its guard reach: with messages of their
  // own, `way` being 0 or 1; or with bytes all of which differ from these.
  void write(std::size_t size, std::size_t round, std::size_t way) const {
    fill(size, round, way, 0);
  }
  void blank(std::size_t size, std::size_t round, std::size_t way) const {
    fill(size, round, way, 0xff);
  }

  // Bytes of blanked places that are not as messages of that size must have left them.
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
