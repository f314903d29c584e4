// gpu.stream: long vectors in the memory of a device, the four operations of STREAM and a dot
// product.
#include <optional>
#include <string>

#include "gpu/passes.hpp"
#include "gpu/stream_work.hpp"
#include "gpu/work_check.hpp"

namespace assay::gpu {
namespace {

constexpr double kStreamSampleSeconds = 0.005;

class DeviceStream : public DeviceKernel {
 public:
  DeviceStream(const Context& context, Parameters& parameters)
      : DeviceKernel(context, parameters), parameters_(parameters) {
    const std::string operation =
        parameters.choice("op", "triad", {"copy", "scale", "sum", "triad", "dot"});
    const bool single = parameters.choice("type", "double", {"double", "float"}) == "float";
    const std::int64_t elements = parameters.integer("elements", 0, 0, std::int64_t{1} << 40);
    work_.emplace(operation, single, static_cast<std::size_t>(elements),
                  PlantedFault(parameters, {"value", "nan", "skip"}));
  }

  void setup() override {
    const std::size_t elements = begin_work(context_, choice_, chosen_, *work_);
    parameters_.resolve("elements", static_cast<std::int64_t>(elements));
    times_.choose(context_, work_->queue(), kStreamSampleSeconds,
                  [this](std::int64_t count) { work_->pass(count); });
  }

  void run(std::int64_t) override { times_.add(work_->timed_pass(times_.operations())); }

  Verification verify() override { return check_work(context_, *work_); }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = DeviceKernel::facts();
    const auto cache = static_cast<double>(chosen_.device->info().cache);
    if (cache > 0) {
      known["array_over_caches"] =
          static_cast<double>(work_->elements() * work_->element()) / cache;
    }
    return known;
  }

 private:
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0
  std::optional<StreamWork> work_;
};

ASSAY_KERNEL("gpu.stream", DeviceStream);

}  // namespace
}  // namespace assay::gpu
