// gpu.latency: dependent loads of one work item over a working set in the memory of a device.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gpu/passes.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/draws.hpp"

namespace assay::gpu {
namespace {

constexpr std::int64_t kLine = 128;  // bytes from one element of the chain to the next
constexpr std::int64_t kStep = kLine / static_cast<std::int64_t>(sizeof(std::int32_t));
constexpr std::int64_t kLoads = 1 << 14;  // of one launch
constexpr std::int64_t kMostChainBytes = (std::int64_t{1} << 31) * 4 - kLine;
constexpr std::int64_t kEnoughBytes = std::int64_t{1} << 28;
constexpr double kLatencySampleSeconds = 0.005;

constexpr const char* kChaseText = R"(
FUNCTION chase(GLOBAL const INT* RESTRICT next, GLOBAL INT* RESTRICT place, LONG loads) {
  INT at = place[0];
  for (LONG k = 0; k < loads; ++k) at = next[at];
  place[0] = at;
}
)";

class DeviceLatency : public DeviceKernel {
 public:
  DeviceLatency(const Context& context, Parameters& parameters)
      : DeviceKernel(context, parameters), parameters_(parameters) {
    bytes_ = parameters.integer("bytes", 0, 0, kMostChainBytes);
    fault_ = PlantedFault(parameters, {"cut", "skip"});
  }

  void setup() override {
    together(context_, [this] { open(); });
    long long lines = std::clamp<long long>(bytes_, 2 * kLine, kMostChainBytes) / kLine;
    MPI_Allreduce(MPI_IN_PLACE, &lines, 1, MPI_LONG_LONG, MPI_MAX, context_.comm);
    bytes_ = lines * kLine;
    parameters_.resolve("bytes", bytes_);
    together(context_, [&] { allocate(static_cast<std::size_t>(lines)); });
    times_.choose(context_, *queue_, kLatencySampleSeconds,
                  [this](std::int64_t count) { chase(count); });
  }

  void run(std::int64_t) override {
    queue_->begin_timing();
    chase(times_.operations());
    times_.add(queue_->end_timing() / kLoads);
  }

  // The place that the device reached must be the one that the processor reaches, and the chain on
  // the device the one that was linked.
  Verification verify() override {
    if (fault_.is("skip")) ++loads_;
    std::int32_t reached = 0;
    std::vector<std::int32_t> read(next_.size());
    together(context_, [&] {
      if (fault_.is("cut")) queue_->write(*chain_, 0, &kNowhere, sizeof kNowhere);
      queue_->read(*place_, 0, &reached, sizeof reached);
      queue_->read(*chain_, 0, read.data(), read.size() * sizeof(std::int32_t));
      queue_->finish();
    });
    const auto lines = static_cast<std::int64_t>(next_.size()) / kStep;
    std::int32_t at = 0;
    for (std::int64_t k = 0; k < loads_ % lines; ++k) at = next_[static_cast<std::size_t>(at)];
    long long wrong = at == reached ? 0 : 1;
    for (std::size_t i = 0; i < next_.size(); ++i) wrong += read[i] != next_[i];
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, context_.comm);
    return {wrong == 0, "wrong elements of the chain, and whether the device ended elsewhere",
            static_cast<double>(wrong), 0.0};
  }

 private:
  std::int64_t operations() const override { return times_.operations() * kLoads; }

  static constexpr std::int32_t kNowhere = -1;

  void open() {
    chosen_ = choice_.open();
    const device::Info& info = chosen_.device->info();
    if (bytes_ == 0) bytes_ = std::max(4 * static_cast<std::int64_t>(info.cache), kEnoughBytes);
  }

  void allocate(std::size_t lines) {
    link(lines);
    program_ = chosen_.device->build(kChaseText, {});
    function_ = program_->function("chase");
    queue_ = chosen_.device->queue();
    chain_ = chosen_.device->allocate(next_.size() * sizeof(std::int32_t));
    place_ = chosen_.device->allocate(sizeof(std::int32_t));
    const std::int32_t begin = 0;
    queue_->write(*chain_, 0, next_.data(), next_.size() * sizeof(std::int32_t));
    queue_->write(*place_, 0, &begin, sizeof begin);
    queue_->finish();
  }

  // One cycle through all lines in random order (Sattolo 1986).
  void link(std::size_t lines) {
    std::vector<std::int32_t> order(lines);
    std::iota(order.begin(), order.end(), 0);
    Draws draws(context_.seed);
    for (std::size_t i = lines - 1; i > 0; --i) std::swap(order[i], order[draws.below(i)]);
    next_.assign(lines * kStep, 0);
    for (std::size_t i = 0; i < lines; ++i) {
      next_[i * kStep] = order[i] * static_cast<std::int32_t>(kStep);
    }
  }

  void chase(std::int64_t count) {
    const device::Argument arguments[] = {chain_.get(), place_.get(), kLoads};
    for (std::int64_t k = 0; k < count; ++k) queue_->launch(*function_, 1, 1, arguments);
    queue_->finish();
    loads_ += count * kLoads;
  }

  Parameters& parameters_;  // outlives the kernel; setup() resolves 0
  std::int64_t bytes_ = 0;
  PlantedFault fault_;
  std::vector<std::int32_t> next_;
  std::unique_ptr<device::Program> program_;
  std::unique_ptr<device::Function> function_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> chain_, place_;
  std::int64_t loads_ = 0;
};

ASSAY_KERNEL("gpu.latency", DeviceLatency);

}  // namespace
}  // namespace assay::gpu
