// What a rank lets its device do, for kernels that measure one device or all of them at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device.hpp"

namespace assay::gpu {

// Operations of one kind on one device. All calls throw KernelError. Local: no call communicates.
class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;

  // The size of an operation, in the kind's own unit: the given one, or one that suits the device.
  virtual std::size_t choose(const device::Info& info) const = 0;
  // Allocates and fills memory for that size, after choose().
  virtual void allocate(device::Device& device, std::size_t size) = 0;

  // The queue whose clock times the operations.
  virtual device::Queue& queue() = 0;
  // That many operations, until the last has ended.
  virtual void pass(std::int64_t count) = 0;
  // The same; returns the seconds that they took by the device's own clock.
  virtual double timed_pass(std::int64_t count) {
    queue().begin_timing();
    pass(count);
    return queue().end_timing();
  }

  // The error of the results of all operations so far, and of one more: what() it is, and what is
  // allowed. After it, operations may follow and be checked again.
  virtual double error() = 0;
  virtual double tolerance() const = 0;
  virtual const char* what() const = 0;
};

}  // namespace assay::gpu
