// Fused multiply-adds in the registers of a device, in single precision.
#pragma once

#include <memory>

#include "gpu/work.hpp"

namespace assay::check {

// The size is the number of groups.
class FmaWork : public gpu::Work {
 public:
  // Floating-point operations of one group.
  static double operations_of_group();

  std::size_t choose(const device::Info& info) const override;
  void allocate(device::Device& device, std::size_t groups) override;
  device::Queue& queue() override { return *queue_; }
  void pass(std::int64_t count) override;
  // Each step adds 1 to a number, exactly, so that every number of the last launch is known.
  double error() override;
  double tolerance() const override { return 0.0; }
  const char* what() const override { return "numbers that are wrong"; }

  // A test's fault: one number of the last launch is damaged.
  void damage();

 private:
  std::size_t groups_ = 0;
  std::unique_ptr<device::Program> program_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> out_;
  std::unique_ptr<device::Function> function_;
};

}  // namespace assay::check
