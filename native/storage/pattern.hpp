// Contents of a file's records: bytes that identify file, offset and generation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/draws.hpp"

namespace assay {

constexpr std::int64_t kRecordUnit = 512;   // bytes; records are multiples of it
constexpr std::int64_t kDirectUnit = 4096;  // of O_DIRECT: the largest sector in use
constexpr std::int64_t kLargestRecord = std::int64_t{1} << 30;
// The share of a node's available memory that records may take.
constexpr double kPartForRecords = 0.5;

// A buffer is filled once per generation, and before each write its blocks get stamps of the
// offset, so that a record costs one store per block in the timed part. The bytes between the
// stamps depend on the position within the record and on the generation: misplaced, stale and
// damaged bytes all show.
class Pattern {
 public:
  static constexpr std::size_t kBlock = 4096;  // bytes per stamp

  // `file` identifies the file; `record` is in bytes, a multiple of 8.
  Pattern(std::uint64_t file, std::size_t record) : file_(file), record_(record) {}

  // The stamp at an offset of the file: what a record begins with.
  std::uint64_t stamp(std::uint64_t offset, std::uint64_t generation) const {
    return mixed(mixed(file_ + 1) ^ mixed(generation) ^ offset);
  }

  // Fills the whole record except its stamps.
  void fill(unsigned char* buffer, std::uint64_t generation) const {
    const std::uint64_t key = mixed(generation);
    for (std::size_t i = 0; i < record_; i += sizeof key) put(buffer + i, word(i, key));
  }

  // Stamps a buffer that was filled for that generation.
  void place(unsigned char* buffer, std::uint64_t offset, std::uint64_t generation) const {
    for (std::size_t i = 0; i < record_; i += kBlock) {
      put(buffer + i, stamp(offset + i, generation));
    }
  }

  // Wrong bytes of the record read from that offset, compared with that generation.
  std::int64_t wrong_bytes(const unsigned char* buffer, std::uint64_t offset,
                           std::uint64_t generation) const {
    const std::uint64_t key = mixed(generation);
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < record_; i += sizeof key) {
      const std::uint64_t expected = i % kBlock == 0 ? stamp(offset + i, generation) : word(i, key);
      std::uint64_t differing = get(buffer + i) ^ expected;
      for (; differing != 0; differing >>= 8) wrong += (differing & 0xff) != 0 ? 1 : 0;
    }
    return wrong;
  }

  static std::uint64_t get(const unsigned char* from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  }

 private:
  static void put(unsigned char* to, std::uint64_t value) { std::memcpy(to, &value, sizeof value); }

  static std::uint64_t word(std::size_t place, std::uint64_t key) {
    const std::uint64_t spread = (place + 1) * 0x9e3779b97f4a7c15u;
    return (spread ^ (spread >> 29)) + key;
  }

  std::uint64_t file_;
  std::size_t record_;
};

}  // namespace assay
