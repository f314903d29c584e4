// What the kernels of devices share: how many operations a sample holds, and the device's own
// times.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/find.hpp"
#include "harness/kernel.hpp"
#include "harness/together.hpp"

namespace assay::gpu {

// A sample is one batch of operations in a row, since the times of one may be short beside the
// resolution of the device's clock. The number is chosen in setup().
class DeviceTimes {
 public:
  // Chooses how many operations a sample holds: as many as take `seconds` on the slowest rank, at
  // least 1. `pass` does the given number of operations, the same on all ranks at a time.
  template <typename Pass>
  void choose(const Context& context, device::Queue& queue, double seconds, Pass pass) {
    const auto taken = [&](std::int64_t count) {
      double mine = 0.0;
      together(context, [&] { queue.begin_timing(); });
      together(context, [&] {
        pass(count);
        mine = queue.end_timing();
      });
      MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_MAX, context.comm);
      return mine;
    };
    taken(1);  // compiles, allocates
    operations_ = kMost;
    for (std::int64_t tried = 1; tried <= kMost; tried *= 4) {
      const double slowest = taken(tried);
      if (slowest < seconds / 4) continue;
      const double wanted = static_cast<double>(tried) * seconds / slowest;
      operations_ = std::clamp<std::int64_t>(std::llround(wanted), 1, kMost);
      break;
    }
  }

  std::int64_t operations() const { return operations_; }

  // Keeps what the device took for the operations of one sample.
  void add(double seconds) { seconds_.push_back(seconds / static_cast<double>(operations_)); }

  // The slowest rank's time of one operation in each sample, on rank 0; collective.
  std::vector<Series> series(const Context& context) const {
    std::vector<double> slowest(seconds_.size());
    MPI_Reduce(seconds_.data(), slowest.data(), static_cast<int>(slowest.size()), MPI_DOUBLE,
               MPI_MAX, 0, context.comm);
    if (context.rank != 0) return {};
    return {{"device_time", "s", std::nullopt, std::nullopt, std::move(slowest)}};
  }

 private:
  static constexpr std::int64_t kMost = std::int64_t{1} << 16;

  std::int64_t operations_ = 1;
  std::vector<double> seconds_;
};

// A kernel on the rank's device whose samples are batches.
class DeviceKernel : public Kernel {
 public:
  std::int64_t max_batch() const override { return 1; }
  double operations_per_count() const override { return static_cast<double>(operations()); }
  std::vector<Series> series() const override { return times_.series(context_); }

  std::vector<std::string> device_addresses() const override { return chosen_.addresses(); }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = chosen_.facts();
    known["operations_per_sample"] = operations();
    return known;
  }

 protected:
  DeviceKernel(const Context& context, Parameters& parameters)
      : context_(context), choice_(context, parameters) {}

  // Operations in a sample.
  virtual std::int64_t operations() const { return times_.operations(); }

  Context context_;
  device::Choice choice_;
  device::Chosen chosen_;
  DeviceTimes times_;
};

}  // namespace assay::gpu
