// Products of matrices by a kernel of our own, which every backend compiles.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"

namespace assay::gpu {

// D = A^T B for n x n matrices in order of columns. Groups of 256 items compute squares of 128 x
// 128 entries of D, each item 8 x 8 of them in registers; pieces of A and B of 8 x 128 entries pass
// through the memory of the group (Volkov & Demmel, 2008).
class OwnProduct {
 public:
  // `type`: fp64, fp32, fp16 or int8. Products of fp16 are added up in fp32, those of int8 in
  // 32-bit integers, and stored so. Throws DeviceError for another type.
  OwnProduct(device::Device& device, const std::string& type);

  void add(device::Queue& queue, const device::Buffer& a, const device::Buffer& b,
           device::Buffer& d, std::size_t n);

 private:
  std::size_t element_;  // bytes of an entry in the memory of the group
  std::unique_ptr<device::Program> program_;
  std::unique_ptr<device::Function> function_;
};

}  // namespace assay::gpu
