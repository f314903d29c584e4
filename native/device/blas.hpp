// Products of matrices on a device by the library of its vendor: cuBLASLt or hipBLASLt.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "device/device.hpp"

namespace assay::device {

// Types of matrices. The result has the type of the factors, except for fp8 (bfloat16) and int8
// (32-bit integers). fp32 in memory, with products of numbers of 11 bits: tf32.
enum class MatrixType { fp64, fp32, tf32, fp16, bf16, fp8, int8 };

// D = A^T B for square matrices in order of columns, prepared for a device. Factors stay where they
// are; each call adds one product to a queue.
class VendorProduct {
 public:
  virtual ~VendorProduct() = default;
  virtual void add(Queue& queue) = 0;
};

// The library of the vendor of a device.
class MatrixLibrary {
 public:
  virtual ~MatrixLibrary() = default;
  virtual const std::string& name() const = 0;  // "cuBLASLt 12.9.2"
  // Throws DeviceError if the library or the device lacks this product. `type_name` is for people.
  virtual std::unique_ptr<VendorProduct> product(MatrixType type, const std::string& type_name,
                                                 std::size_t n, const Buffer& a, const Buffer& b,
                                                 Buffer& d) = 0;
};

// Whether products on devices of this backend have a vendor's library.
bool has_matrix_library(const std::string& backend);

// Loads the library for a device, which must be the thread's current one and outlive it. Throws
// DeviceError if it is missing or too old, with what brings it.
std::unique_ptr<MatrixLibrary> load_matrix_library(Device& device);

// Whether the device's fp8 has no negative zero (AMD's CDNA 3, "FNUZ") and exponents biased by 8.
// Others follow OCP's specification, with a bias of 7.
bool fp8_without_negative_zero(const Info& info);

}  // namespace assay::device
