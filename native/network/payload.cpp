#include "network/payload.hpp"

#include <algorithm>
#include <string>

#include "network/messages.hpp"

namespace assay {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kUntouched = 0xA5;

// Multiplicative hashing: keys start far apart in one long sequence without a period that a line or
// a page could hide.
unsigned char pattern(std::uint64_t index, std::uint64_t key) {
  return static_cast<unsigned char>(
      ((index + key * 0x9E3779B97F4A7C15ULL) * 0xD1B54A32D192ED03ULL) >> 56);
}

}  // namespace

std::size_t payload_bytes(Parameters& parameters, std::int64_t fallback) {
  return static_cast<std::size_t>(parameters.integer("bytes", fallback, 0, kLargestPayload));
}

void Payload::allocate(const Context& context, std::size_t bytes) {
  require_memory(context, kPartForBuffers, 2.0 * static_cast<double>(bytes), "two buffers",
                 "give a smaller number of 'bytes'");
  bytes_ = bytes;
  outgoing_memory_ = Pages(bytes + kGuard, Pages::Size::ordinary);
  incoming_memory_ = Pages(bytes + kGuard, Pages::Size::ordinary);
  outgoing_ = outgoing_memory_.as<unsigned char>();
  incoming_ = incoming_memory_.as<unsigned char>();
  std::fill_n(incoming_ + bytes_, kGuard, kUntouched);
}

void Payload::fill(std::uint64_t key) {
  for (std::size_t i = 0; i < bytes_; ++i) outgoing_[i] = pattern(i, key);
}

void Payload::spoil(std::uint64_t key) {
  for (std::size_t i = 0; i < bytes_; ++i) {
    incoming_[i] = static_cast<unsigned char>(~pattern(i, key));
  }
}

std::int64_t Payload::wrong(std::uint64_t key) const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < bytes_; ++i) count += incoming_[i] != pattern(i, key) ? 1 : 0;
  return count + static_cast<std::int64_t>(kGuard) -
         std::count(incoming_ + bytes_, incoming_ + bytes_ + kGuard, kUntouched);
}

bool arrived_whole(MPI_Status& status, int bytes) {
  int received = 0;
  MPI_Get_count(&status, MPI_BYTE, &received);
  return received == bytes;
}

}  // namespace assay
