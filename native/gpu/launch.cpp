// gpu.launch: what it costs to start work on a device, one launch at a time, many in a row, or
// many as a graph.
#include <string>
#include <vector>

#include "gpu/passes.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"

namespace assay::gpu {
namespace {

constexpr double kLaunchSampleSeconds = 0.002;
constexpr std::int64_t kOfGraph = 64;  // launches

// The shortest kernel whose launches can be counted.
constexpr const char* kCountText = R"(
FUNCTION count_launch(GLOBAL INT* count) {
  if (INDEX == 0) count[0] += 1;
}
)";

class Launch : public DeviceKernel {
 public:
  Launch(const Context& context, Parameters& parameters)
      : DeviceKernel(context, parameters),
        mode_(parameters.choice("mode", "single", {"single", "row", "graph"})) {
    fault_ = PlantedFault(parameters, {"skip"});
  }

  void setup() override {
    together(context_, [this] { open(); });
    times_.choose(context_, *queue_, kLaunchSampleSeconds,
                  [this](std::int64_t count) { launch(count); });
  }

  void run(std::int64_t) override {
    queue_->begin_timing();
    launch(times_.operations());
    times_.add(queue_->end_timing() / static_cast<double>(per_step()));
  }

  Verification verify() override {
    if (fault_.is("skip")) ++launches_;
    std::int32_t counted = 0;
    together(context_, [&] {
      queue_->read(*counter_, 0, &counted, sizeof counted);
      queue_->finish();
    });
    auto wrong = static_cast<long long>(launches_ & 0xFFFFFFFF) -
                 static_cast<long long>(static_cast<std::uint32_t>(counted));
    wrong = wrong < 0 ? -wrong : wrong;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_MAX, context_.comm);
    return {wrong == 0, "launches that the device didn't count", static_cast<double>(wrong), 0.0};
  }

 private:
  std::int64_t operations() const override { return times_.operations() * per_step(); }
  // Launches of a step: a graph, or one launch.
  std::int64_t per_step() const { return graph_ ? kOfGraph : 1; }

  void open() {
    chosen_ = choice_.open();
    program_ = chosen_.device->build(kCountText, {});
    function_ = program_->function("count_launch");
    queue_ = chosen_.device->queue();
    counter_ = chosen_.device->allocate(sizeof(std::int32_t));
    const std::int32_t zero = 0;
    queue_->write(*counter_, 0, &zero, sizeof zero);
    queue_->finish();
    if (mode_ != "graph") return;
    graph_ = queue_->record([this] {
      for (std::int64_t k = 0; k < kOfGraph; ++k) launch_once();
    });
  }

  void launch_once() {
    const device::Argument arguments[] = {counter_.get()};
    queue_->launch(*function_, 1, 1, arguments);
  }

  void launch(std::int64_t count) {
    const bool waits = mode_ == "single";
    for (std::int64_t k = 0; k < count; ++k) {
      if (graph_) {
        queue_->launch(*graph_);
      } else {
        launch_once();
      }
      if (waits) queue_->finish();
    }
    queue_->finish();
    launches_ += count * per_step();
  }

  std::string mode_;
  PlantedFault fault_;
  std::unique_ptr<device::Program> program_;
  std::unique_ptr<device::Function> function_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> counter_;
  std::unique_ptr<device::Graph> graph_;
  std::int64_t launches_ = 0;
};

ASSAY_KERNEL("gpu.launch", Launch);

}  // namespace
}  // namespace assay::gpu
