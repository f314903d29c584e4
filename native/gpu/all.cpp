// gpu.all: what each device takes alone, and what it takes while all devices of its node work.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/passes.hpp"
#include "gpu/product_work.hpp"
#include "gpu/stream_work.hpp"
#include "gpu/transfer_work.hpp"
#include "gpu/work_check.hpp"
#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/stop_rule.hpp"
#include "network/ranks.hpp"

namespace assay::gpu {
namespace {

constexpr double kAllSampleSeconds = 0.005;
constexpr std::int64_t kMostOfAll = std::int64_t{1} << 40;
constexpr std::int64_t kUsualTransfer = std::int64_t{1} << 26;

class AllDevices : public DeviceKernel {
 public:
  AllDevices(const Context& context, Parameters& parameters)
      : DeviceKernel(context, parameters), parameters_(parameters) {
    if (context.size < 2) throw KernelError("gpu.all needs at least 2 ranks");
    const std::string operation =
        parameters.choice("op", "stream", {"stream", "gemm", "to device", "to host"});
    std::int64_t bytes = parameters.integer("bytes", 0, 0, kMostOfAll);
    if (bytes % 8 != 0) throw KernelError("parameter 'bytes' must be a multiple of 8");
    fault_ = PlantedFault(parameters, {"value", "alone", "together"});
    const auto words = static_cast<std::size_t>(bytes) / sizeof(double);
    if (operation == "stream") {
      work_ = std::make_unique<StreamWork>("triad", false, words, fault_);
      bytes_of_ = [](std::size_t elements) { return elements * sizeof(double); };
    } else if (operation == "gemm") {
      const auto n = static_cast<std::size_t>(std::sqrt(static_cast<double>(words)));
      work_ = std::make_unique<ProductWork>("fp64", "auto", n, context.seed, fault_);
      bytes_of_ = [](std::size_t n) { return n * n * sizeof(double); };
    } else {
      const std::int64_t size = bytes == 0 ? kUsualTransfer : bytes;
      work_ =
          std::make_unique<TransferWork>(operation, true, static_cast<std::size_t>(size), fault_);
      bytes_of_ = [](std::size_t given) { return given; };
    }
  }

  void setup() override {
    turns_ = context_.local_size;
    MPI_Allreduce(MPI_IN_PLACE, &turns_, 1, MPI_INT, MPI_MAX, context_.comm);
    const std::size_t size = begin_work(context_, choice_, chosen_, *work_);
    parameters_.resolve("bytes", static_cast<std::int64_t>(bytes_of_(size)));
    times_.choose(context_, work_->queue(), kAllSampleSeconds,
                  [this](std::int64_t count) { work_->pass(count); });
  }

  // The ranks of a node in turn, while the others wait.
  void before_sample() override {
    for (int turn = 0; turn < turns_; ++turn) {
      together(context_, [&] {
        if (failure_) throw KernelError(*failure_);
        if (context_.local_rank != turn) return;
        plant("alone");
        alone_.push_back(timed());
      });
    }
  }

  // All ranks agree on a failure later: before the next sample, or in the check.
  void run(std::int64_t) override {
    try {
      plant("together");
      together_.push_back(timed());
    } catch (const KernelError& error) {
      failure_ = error.what();
      together_.push_back(0.0);
    }
  }

  Verification verify() override {
    together(context_, [this] {
      if (failure_) throw KernelError(*failure_);
    });
    return check_work(context_, *work_);
  }

  // For each sample the slowest rank alone, and how many times as long the rank that suffers most
  // takes beside the others; for each rank the medians of both times.
  std::vector<Series> series() const override {
    std::vector<double> slowdowns;
    for (std::size_t i = 0; i < together_.size(); ++i) {
      slowdowns.push_back(together_[i] / alone_[i]);
    }
    std::vector<Series> all;
    const std::vector<double> alone = greatest(alone_);
    const std::vector<double> slowdown = greatest(slowdowns);
    if (context_.rank == 0) {
      all.push_back({"alone", "s", {}, {}, alone});
      all.push_back({"slowdown", "", {}, {}, slowdown});
    }
    all.push_back({"rank_alone", "s", context_.rank, {}, {rounded(median(alone_))}});
    all.push_back({"rank_together", "s", context_.rank, {}, {rounded(median(together_))}});
    return all;
  }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = DeviceKernel::facts();
    known["ranks_of_node"] = std::int64_t{context_.local_size};
    return known;
  }

 private:
  // A device that is lost on one rank, in its first sample.
  void plant(const char* when) const {
    if (fault_.is(when) && context_.rank == 1 && together_.empty()) {
      throw device::DeviceError("the device is lost");
    }
  }

  // Seconds of one operation of a batch, by the host's clock.
  double timed() {
    const Ticks begin = ticks();
    work_->pass(times_.operations());
    return seconds(ticks() - begin) / static_cast<double>(times_.operations());
  }

  // The greatest of all ranks, on rank 0. Collective.
  std::vector<double> greatest(const std::vector<double>& values) const {
    std::vector<double> found(values.size());
    MPI_Reduce(values.data(), found.data(), static_cast<int>(found.size()), MPI_DOUBLE, MPI_MAX, 0,
               context_.comm);
    return found;
  }

  Parameters& parameters_;                          // outlives the kernel; setup() resolves 0
  std::size_t (*bytes_of_)(std::size_t) = nullptr;  // of a vector, matrix or transfer of that size
  int turns_ = 1;                                   // the most ranks of a node
  Complaint failure_;                               // of this rank, in run()
  PlantedFault fault_;
  std::unique_ptr<Work> work_;
  std::vector<double> alone_, together_;  // seconds of an operation, one per sample
};

ASSAY_KERNEL("gpu.all", AllDevices);

}  // namespace
}  // namespace assay::gpu
