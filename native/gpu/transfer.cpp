// gpu.transfer: transfers between the memory of the host and the memory of a device.
#include <cstdint>
#include <optional>
#include <string>

#include "gpu/passes.hpp"
#include "gpu/transfer_work.hpp"
#include "gpu/work_check.hpp"

namespace assay::gpu {
namespace {

constexpr double kTransferSampleSeconds = 0.005;
constexpr std::int64_t kMostTransfer = std::int64_t{1} << 40;

class Transfer : public DeviceKernel {
 public:
  Transfer(const Context& context, Parameters& parameters) : DeviceKernel(context, parameters) {
    const std::string direction =
        parameters.choice("direction", "to device", {"to device", "to host", "both"});
    const bool pinned = parameters.choice("memory", "pinned", {"pinned", "pageable"}) == "pinned";
    const std::int64_t bytes = parameters.integer("bytes", 1 << 26, 8, kMostTransfer);
    if (bytes % 8 != 0) throw KernelError("parameter 'bytes' must be a multiple of 8");
    work_.emplace(direction, pinned, static_cast<std::size_t>(bytes),
                  PlantedFault(parameters, {"value"}));
  }

  void setup() override {
    begin_work(context_, choice_, chosen_, *work_);
    times_.choose(context_, work_->queue(), kTransferSampleSeconds,
                  [this](std::int64_t count) { work_->pass(count); });
  }

  void run(std::int64_t) override { times_.add(work_->timed_pass(times_.operations())); }

  Verification verify() override { return check_work(context_, *work_); }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = DeviceKernel::facts();
    known["shares_host_memory"] = std::int64_t{chosen_.device->info().shares_host_memory ? 1 : 0};
    return known;
  }

 private:
  std::optional<TransferWork> work_;
};

ASSAY_KERNEL("gpu.transfer", Transfer);

}  // namespace
}  // namespace assay::gpu
