// noise.ftq: fixed time quantum. How many small pieces of work are done in each of many equal
// intervals of time, on every rank concurrently (Sottile & Minnich, Cluster 2004). The intervals
// are evenly spaced in any case, as a spectrum requires.
#include <algorithm>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "noise/fixed_work.hpp"
#include "noise/reported_ranks.hpp"

namespace assay {
namespace {

// A piece of work: about 250 cycles, several times what reading the clock costs.
constexpr std::int64_t kSteps = 64;
// Pieces that an interval must hold for a resolution of 1%.
constexpr double kLeastPieces = 100.0;

class FixedTimeQuantum : public Kernel {
 public:
  FixedTimeQuantum(const Context& context, Parameters& parameters)
      : context_(context),
        interval_(checked_span(parameters, "interval", 1e-4)),
        count_(checked_count(parameters, 10000)),
        traces_(context, count_),
        work_(context.seed + static_cast<std::uint64_t>(context.rank)) {
    check_trace(interval_, count_);
    fault_ = PlantedFault(parameters, {"work", "count"});
  }

  // Runs a few pieces for their minimum time, the reference for a detour.
  void setup() override {
    traces_.allocate();
    const double pieces = static_cast<double>(steps_lasting(context_.comm, interval_, work_)) /
                          static_cast<double>(kSteps);
    if (pieces < kLeastPieces) {
      throw KernelError("an interval of " + std::to_string(interval_) +
                        " s holds too few pieces of work to resolve 1% of it; give a longer "
                        "'interval'");
    }
    for (int i = 0; i < 10000; ++i) {
      const Ticks before = ticks();
      work_.steps(kSteps);
      const Ticks gap = ticks() - before;
      if (i == 0 || gap < least_) least_ = gap;
    }
    calibration_ = work_.done();
  }

  void before_sample() override { note(); }

  // One sample is one trace. An interval that passes while something else has the CPU counts 0. A
  // piece counts where it began; the greatest gap between two readings of the clock is the longest
  // detour.
  void run(std::int64_t) override {
    double* values = traces_.next();
    const auto interval = static_cast<Ticks>(1e9 * interval_);
    greatest_ = 0;
    Ticks now = ticks();
    Ticks end = now;
    for (std::int64_t i = 0; i < count_; ++i) {
      end += interval;
      std::int64_t pieces = 0;
      while (now < end) {
        work_.steps(kSteps);
        const Ticks then = ticks();
        if (then - now > greatest_) greatest_ = then - now;
        now = then;
        ++pieces;
      }
      values[i] = static_cast<double>(pieces);
      pieces_ += pieces;
    }
    taken_ = true;
  }

  // Checks the value that all steps lead to, and their number.
  Verification verify() override {
    note();
    if (fault_.is("work") && context_.rank == context_.size - 1) work_.damage();
    if (fault_.is("count") && context_.rank == context_.size - 1) ++pieces_;
    const auto expected = calibration_ + static_cast<std::uint64_t>(pieces_ * kSteps);
    long long wrong = work_.right() && work_.done() == expected ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, context_.comm);
    double noise = 0.0;
    for (const double each : noise_of_samples()) noise += each;
    reported_ = choose_reported(context_.comm, noise);
    return {wrong == 0, "ranks whose work came to a wrong value or was not counted right",
            static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return static_cast<double>(count_); }
  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    std::vector<Series> all;
    std::vector<double> detours;
    for (const Ticks worst : worst_) detours.push_back(seconds(worst - std::min(least_, worst)));
    add_noise_series(context_, reported_, noise_of_samples(), detours, all);
    traces_.add_series(all, reported_, "pieces", "");
    return all;
  }

  std::map<std::string, Value> facts() const override {
    return {{"resolution", interval_ / std::max(traces_.greatest(), 1.0)},
            {"traces_told", traces_.segments(reported_)},
            {"ranks_traced", listed(reported_.traced)}};
  }

 private:
  void note() {
    if (!taken_) return;
    traces_.note();
    worst_.push_back(greatest_);
    taken_ = false;
  }

  // (max - mean) / max of each sample, where max is over all samples of this rank.
  std::vector<double> noise_of_samples() const {
    std::vector<double> noise;
    for (const double mean : traces_.means()) {
      noise.push_back((traces_.greatest() - mean) / traces_.greatest());
    }
    return noise;
  }

  Context context_;
  double interval_;
  std::int64_t count_;
  Traces traces_;
  FixedWork work_;
  std::uint64_t calibration_ = 0;  // steps done before the first sample
  std::int64_t pieces_ = 0;
  Ticks least_ = 0;  // of one piece and a reading of the clock
  bool taken_ = false;
  Ticks greatest_ = 0;
  std::vector<Ticks> worst_;
  ReportedRanks reported_;
  PlantedFault fault_;
};

ASSAY_KERNEL("noise.ftq", FixedTimeQuantum);

}  // namespace
}  // namespace assay
