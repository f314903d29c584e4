// Products of square matrices on a device.
#pragma once

#include <memory>
#include <string>

#include "gpu/square_product.hpp"
#include "gpu/work.hpp"
#include "harness/fault.hpp"

namespace assay::gpu {

// The size is the number of rows and columns.
class ProductWork : public Work {
 public:
  static constexpr std::size_t kLargest = 65'536;  // sums of int8 stay below 2^31

  // `type`: one of SquareProduct::types(). `library`: auto, vendor or own. `n`: 0 chooses it.
  // Faults "value", "nan", "skip" and "factor".
  ProductWork(const std::string& type, const std::string& library, std::size_t n,
              std::uint64_t seed, const PlantedFault& fault);

  std::size_t choose(const device::Info& info) const override;
  void allocate(device::Device& device, std::size_t n) override;
  device::Queue& queue() override { return *queue_; }
  void pass(std::int64_t count) override;
  // Of the timed products, whose data use all bits, and of one more product of data that are summed
  // without rounding.
  double error() override;
  double tolerance() const override { return 1.0; }
  const char* what() const override { return "greatest error of an entry over its bound"; }

  // Whether our own kernel multiplies on that device.
  bool is_own(const device::Info& info) const;
  // What multiplies.
  const std::string& library() const { return product_->library(); }

 private:
  std::string type_, library_;
  std::size_t n_;
  std::uint64_t seed_;
  PlantedFault fault_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<SquareProduct> product_;
};

}  // namespace assay::gpu
