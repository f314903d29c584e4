// gpu.gemm: products of square matrices on a device, by the vendor's library or our own kernel.
#include <cstdint>
#include <optional>
#include <string>

#include "gpu/passes.hpp"
#include "gpu/product_work.hpp"
#include "gpu/work_check.hpp"

namespace assay::gpu {
namespace {

constexpr double kProductSampleSeconds = 0.02;

class Gemm : public DeviceKernel {
 public:
  Gemm(const Context& context, Parameters& parameters)
      : DeviceKernel(context, parameters), parameters_(parameters) {
    const std::string type = parameters.choice("type", "fp64", SquareProduct::types());
    const std::string library = parameters.choice("library", "auto", {"auto", "vendor", "own"});
    const std::int64_t n = parameters.integer("n", 0, 0, ProductWork::kLargest);
    work_.emplace(type, library, static_cast<std::size_t>(n),
                  context.seed + static_cast<std::uint64_t>(context.rank),
                  PlantedFault(parameters, {"value", "nan", "skip", "factor"}));
  }

  void setup() override {
    const std::size_t n = begin_work(context_, choice_, chosen_, *work_);
    parameters_.resolve("n", static_cast<std::int64_t>(n));
    parameters_.resolve("library",
                        std::string(work_->is_own(chosen_.device->info()) ? "own" : "vendor"));
    times_.choose(context_, work_->queue(), kProductSampleSeconds,
                  [this](std::int64_t count) { work_->pass(count); });
  }

  void run(std::int64_t) override { times_.add(work_->timed_pass(times_.operations())); }

  Verification verify() override { return check_work(context_, *work_); }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = DeviceKernel::facts();
    known["library"] = work_->library();
    return known;
  }

 private:
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0 and "auto"
  std::optional<ProductWork> work_;
};

ASSAY_KERNEL("gpu.gemm", Gemm);

}  // namespace
}  // namespace assay::gpu
