// Vectors in the memory of a device, and the operations of STREAM on them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu/work.hpp"
#include "harness/fault.hpp"

namespace assay::gpu {

// The size is the number of elements of each vector.
class StreamWork : public Work {
 public:
  // `operation`: copy, scale, sum, triad or dot. `single`: of floats, else of doubles. `elements`:
  // 0 chooses them. Faults "value", "nan" and "skip".
  StreamWork(const std::string& operation, bool single, std::size_t elements,
             const PlantedFault& fault);

  std::size_t choose(const device::Info& info) const override;
  void allocate(device::Device& device, std::size_t elements) override;
  device::Queue& queue() override { return *queue_; }
  void pass(std::int64_t count) override;
  // The timed passes must leave the result of the last one, and one more pass over a result of NaN
  // must write every element.
  double error() override;
  double tolerance() const override;
  const char* what() const override;

  std::size_t element() const { return single_ ? sizeof(float) : sizeof(double); }
  std::size_t elements() const { return elements_; }

 private:
  std::size_t results() const { return is_dot() ? dot_groups_ : elements_; }
  bool is_dot() const { return operation_ == "dot"; }
  device::Argument real(double value) const;
  void launch(device::Function& function, std::size_t items,
              const std::vector<device::Argument>& arguments);
  void spoil();
  void plant();
  double scalar() const;
  double expected(std::size_t i) const;
  double greatest_error();
  template <typename Real>
  double error_of();
  double dot_on_the_processor() const;

  std::string operation_;
  bool single_;
  std::size_t elements_;
  std::size_t dot_groups_ = 1;
  PlantedFault fault_;
  std::unique_ptr<device::Program> program_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> x_, y_, z_;
  std::unique_ptr<device::Function> function_, spoil_;
  std::int64_t passes_ = 0;
};

}  // namespace assay::gpu
