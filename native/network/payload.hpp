// Contents of messages, such that each received byte can be distinguished from any other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/kernel.hpp"
#include "memory/pages.hpp"

namespace assay {

constexpr std::int64_t kLargestPayload = std::int64_t{1} << 30;

// The parameter "bytes" within the limits of a payload, or KernelError.
std::size_t payload_bytes(Parameters& parameters, std::int64_t fallback);

// A send buffer and a receive buffer, page-aligned, on ordinary pages as in an application. Bytes
// after the message must not change.
class Payload {
 public:
  // Throws KernelError if there is not enough memory. Does not communicate.
  void allocate(const Context& context, std::size_t bytes);

  unsigned char* outgoing() const { return outgoing_; }
  unsigned char* incoming() const { return incoming_; }
  int count() const { return static_cast<int>(bytes_); }
  std::size_t bytes() const { return bytes_; }

  // Writes the message with that key into the outgoing buffer.
  void fill(std::uint64_t key);
  // Makes every byte of the incoming buffer differ from the message with that key.
  void spoil(std::uint64_t key);
  // Number of bytes of the incoming buffer that differ from the message with that key, and of bytes
  // after it that changed.
  std::int64_t wrong(std::uint64_t key) const;

 private:
  std::size_t bytes_ = 0;
  Pages outgoing_memory_;
  Pages incoming_memory_;
  unsigned char* outgoing_ = nullptr;
  unsigned char* incoming_ = nullptr;
};

// Whether the status belongs to a message of exactly that many bytes.
bool arrived_whole(MPI_Status& status, int bytes);

}  // namespace assay
