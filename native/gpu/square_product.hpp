// The product of two square matrices on a device, with data whose product the processor knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/blas.hpp"
#include "device/device.hpp"
#include "gpu/own_product.hpp"

namespace assay::gpu {

// How the numbers of a type are stored and how exactly they are multiplied.
struct ProductType;

// D = A^T B for n x n matrices in order of columns, by the vendor's library or our own kernel.
//
// The columns of A repeat 61 random vectors in turn, the columns of B 59 others. Each entry of D is
// one of 61 x 59 inner products, which the processor computes. So all entries are compared, at any
// n.
class SquareProduct {
 public:
  static std::vector<std::string> types();

  // Bytes of the three matrices per entry.
  static std::size_t bytes_of_entries(const std::string& type, bool own);

  // Throws DeviceError if the library or the device lacks the type, or memory is too small.
  // `queue` must outlive it.
  SquareProduct(device::Device& device, device::Queue& queue, const std::string& type,
                std::size_t n, bool own, std::uint64_t seed);
  ~SquareProduct();
  SquareProduct(const SquareProduct&) = delete;
  SquareProduct& operator=(const SquareProduct&) = delete;

  // What multiplies: "cuBLASLt 12.9.2" or "own".
  const std::string& library() const { return library_; }

  // Fills the factors. `rough`: with random numbers that use all bits of the type; else with
  // multiples of 1/2 between -1 and 1 (int8: from -2 to 2), whose products are summed without
  // rounding.
  void fill(bool rough);
  // Adds one product to the queue.
  void add();
  // Fills D with a number that no entry has.
  void spoil();

  // The greatest error of an entry of D divided by its bound, NaN if there is one. Blocks.
  double worst_error();

  // For faults that tests plant: one wrong entry of D, NaN in D, a wrong entry of A.
  void plant_value();
  void plant_nan();
  void plant_factor();

 private:
  struct Inner {
    double value, bound;
  };

  void draw(std::vector<double>& vectors, std::size_t count, std::uint64_t seed, bool rough) const;
  void write(device::Buffer& to, const std::vector<double>& vectors, std::size_t count);
  std::vector<std::byte> encoded(const std::vector<double>& vectors) const;
  std::vector<Inner> inner_products() const;
  double decoded(const std::byte* at) const;
  std::size_t result_bytes() const;  // of an entry of D

  device::Queue& queue_;
  const ProductType& type_;
  std::size_t n_;
  bool own_;
  bool fnuz_;
  std::uint64_t seed_;
  std::string library_;
  bool rough_ = true;
  std::size_t a_count_, b_count_;  // different columns
  std::vector<double> a_vectors_, b_vectors_;
  std::unique_ptr<device::Buffer> a_, b_, d_;
  std::unique_ptr<OwnProduct> own_product_;
  std::unique_ptr<device::MatrixLibrary> vendor_;
  std::unique_ptr<device::VendorProduct> vendor_product_;
};

}  // namespace assay::gpu
