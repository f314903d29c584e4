// Transfers between the memory of the host and the memory of a device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/work.hpp"
#include "harness/fault.hpp"

namespace assay::gpu {

// A block of the host's memory, pinned or not, with a known content.
class HostBlock {
 public:
  HostBlock() = default;
  HostBlock(device::Device& device, bool pinned, std::size_t bytes, std::uint64_t seed);

  std::uint64_t* data() {
    return pinned_ ? static_cast<std::uint64_t*>(pinned_->data()) : pageable_.data();
  }
  void clear();
  // Number of words that differ from the content of a block with this seed.
  std::int64_t wrong(std::uint64_t seed);

 private:
  std::size_t words_ = 0;
  std::unique_ptr<device::PinnedMemory> pinned_;
  std::vector<std::uint64_t> pageable_;
};

// The size is the bytes of a transfer.
class TransferWork : public Work {
 public:
  // `direction`: to device, to host or both. Fault "value".
  TransferWork(const std::string& direction, bool pinned, std::size_t bytes,
               const PlantedFault& fault);

  std::size_t choose(const device::Info&) const override { return bytes_; }
  void allocate(device::Device& device, std::size_t bytes) override;
  device::Queue& queue() override { return sends() ? *sending_ : *receiving_; }
  void pass(std::int64_t count) override;
  // With both directions the time of the longer one.
  double timed_pass(std::int64_t count) override;
  // What went to the device is read back, and what came from it is compared.
  double error() override;
  double tolerance() const override { return 0.0; }
  const char* what() const override { return "words that arrived wrong"; }

 private:
  bool sends() const { return direction_ != "to host"; }
  bool receives() const { return direction_ != "to device"; }

  std::string direction_;
  bool pinned_;
  std::size_t bytes_;
  PlantedFault fault_;
  std::unique_ptr<device::Queue> sending_, receiving_;
  std::unique_ptr<device::Buffer> to_, from_;
  HostBlock out_, in_;
};

}  // namespace assay::gpu
