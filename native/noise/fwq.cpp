// noise.fwq: fixed work quantum. The same small piece of work repeated on every rank concurrently;
// the time of a piece beyond that of the fastest was taken by something else (Sottile & Minnich,
// Cluster 2004; Petrini, Kerbyson & Pakin, SC03).
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "noise/fixed_work.hpp"
#include "noise/reported_ranks.hpp"

namespace assay {
namespace {

class FixedWorkQuantum : public Kernel {
 public:
  FixedWorkQuantum(const Context& context, Parameters& parameters)
      : context_(context),
        quantum_(checked_span(parameters, "quantum", 1e-4)),
        count_(checked_count(parameters, 10000)),
        traces_(context, count_),
        work_(context.seed + static_cast<std::uint64_t>(context.rank)) {
    check_trace(quantum_, count_);
    fault_ = PlantedFault(parameters, {"work", "count"});
  }

  void setup() override {
    traces_.allocate();
    steps_ = steps_lasting(context_.comm, quantum_, work_);
    calibration_ = work_.done();
  }

  void before_sample() override { note(); }

  // One sample is one trace. The end of a quantum is the beginning of the next: no time is lost.
  void run(std::int64_t) override {
    double* values = traces_.next();
    greatest_ = 0;
    Ticks before = ticks();
    for (std::int64_t i = 0; i < count_; ++i) {
      work_.steps(steps_);
      const Ticks now = ticks();
      const Ticks took = now - before;
      before = now;
      values[i] = seconds(took);
      if (took > greatest_) greatest_ = took;
    }
    taken_ = true;
  }

  // Checks the value that all steps lead to, and their number.
  Verification verify() override {
    note();
    if (fault_.is("work") && context_.rank == context_.size - 1) work_.damage();
    if (fault_.is("count") && context_.rank == context_.size - 1) work_.steps(1);
    const auto quanta = static_cast<std::uint64_t>(count_) * traces_.samples();
    const auto expected = calibration_ + quanta * static_cast<std::uint64_t>(steps_);
    long long wrong = work_.right() && work_.done() == expected ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, context_.comm);
    double noise = 0.0;
    for (const double each : noise_of_samples()) noise += each;
    reported_ = choose_reported(context_.comm, noise);
    return {wrong == 0, "ranks whose work came to a wrong value or was not done in full",
            static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return static_cast<double>(count_); }
  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    std::vector<Series> all;
    std::vector<double> detours;
    for (const Ticks worst : worst_) detours.push_back(seconds(worst) - traces_.least());
    add_noise_series(context_, reported_, noise_of_samples(), detours, all);
    traces_.add_series(all, reported_, "quantum", "s");
    return all;
  }

  std::map<std::string, Value> facts() const override {
    return {{"steps", steps_},
            {"fastest_quantum", traces_.least()},
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

  // (mean - min) / min of each sample, where min is over all samples of this rank.
  std::vector<double> noise_of_samples() const {
    std::vector<double> noise;
    for (const double mean : traces_.means()) {
      noise.push_back((mean - traces_.least()) / traces_.least());
    }
    return noise;
  }

  Context context_;
  double quantum_;
  std::int64_t count_;
  Traces traces_;
  FixedWork work_;
  std::int64_t steps_ = 1;
  std::uint64_t calibration_ = 0;  // steps done before the first sample
  bool taken_ = false;
  Ticks greatest_ = 0;
  std::vector<Ticks> worst_;
  ReportedRanks reported_;
  PlantedFault fault_;
};

ASSAY_KERNEL("noise.fwq", FixedWorkQuantum);

}  // namespace
}  // namespace assay
