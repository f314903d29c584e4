// noise.barrier: order and lateness of arrivals at a barrier. Every rank does the same work, then
// all meet in a barrier, thousands of times; each rank's arrival and exit are timed (the experiment
// that Kramer & Ryan, ICCS 2003, propose in section 13).
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "noise/fixed_work.hpp"
#include "noise/reported_ranks.hpp"

namespace assay {
namespace {

// A rank's lateness is reported as these quantiles and its few greatest values.
constexpr double kLevels[] = {0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999};
constexpr std::size_t kWorst = 5;
// Steps whose lateness is kept for the quantiles; the shares and means cover all steps.
constexpr std::size_t kMostSteps = std::size_t{1} << 18;

class ArrivalAtBarrier : public Kernel {
 public:
  ArrivalAtBarrier(const Context& context, Parameters& parameters)
      : context_(context),
        quantum_(checked_span(parameters, "quantum", 1e-4)),
        count_(checked_count(parameters, 1000)),
        work_(context.seed + static_cast<std::uint64_t>(context.rank)) {
    if (context.size < 2) throw KernelError("noise.barrier needs at least two ranks");
    check_trace(quantum_, count_);
    // Ranks of one node read the same clock. The offsets between clocks of different nodes are not
    // known here.
    common_ = context.local_size == context.size;
    fault_ = PlantedFault(parameters, {"work", "count", "early", "late"});
  }

  void setup() override {
    const auto count = static_cast<std::size_t>(count_);
    arrivals_.assign(count, 0);
    exits_.assign(count, 0);
    lateness_.reserve(kMostSteps);
    steps_ = steps_lasting(context_.comm, quantum_, work_);
    calibration_ = work_.done();
    // All times are relative to one moment, so that they are exact in seconds.
    base_ = ticks();
    MPI_Bcast(&base_, 1, MPI_INT64_T, 0, context_.comm);
  }

  void before_sample() override { note(); }

  void run(std::int64_t) override {
    begin_ = ticks();
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
      work_.steps(steps_);
      if (fault_.is("late") && context_.rank == context_.size - 1) more_.steps(4 * steps_);
      arrivals_[i] = ticks();
      pass_barrier(i);
    }
    taken_ = true;
  }

  // Checks the work's value, and, where all ranks share a clock, that no rank left a barrier before
  // the last one arrived.
  Verification verify() override {
    note();
    if (fault_.is("work") && context_.rank == context_.size - 1) work_.damage();
    if (fault_.is("count") && context_.rank == context_.size - 1) work_.steps(1);
    const auto quanta = static_cast<std::uint64_t>(count_) * lost_.size();
    const auto expected = calibration_ + quanta * static_cast<std::uint64_t>(steps_);
    long long wrong = early_ + (work_.right() && work_.done() == expected ? 0 : 1);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, context_.comm);
    reported_ = choose_reported(context_.comm, total_lateness_);
    return {wrong == 0,
            common_ ? "exits before the last arrival, and ranks whose work came out wrong"
                    : "ranks whose work came out wrong",
            static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return static_cast<double>(count_); }
  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    std::vector<Series> all;
    if (context_.rank == 0) {
      all.push_back({"lost", "1", {}, {}, lost_});
      all.push_back({"spread", "s", {}, {}, spread_});
      all.push_back({"barrier", "s", {}, {}, barrier_});
    }
    if (!reported_.summarised || lost_.empty()) return all;
    const double steps = static_cast<double>(count_) * static_cast<double>(lost_.size());
    all.push_back({"last", "1", context_.rank, {}, {static_cast<double>(last_) / steps}});
    all.push_back({"lateness", "s", context_.rank, {}, quantiles()});
    all.push_back({"latest", "s", context_.rank, {}, worst_});
    return all;
  }

  std::map<std::string, Value> facts() const override {
    return {{"steps", steps_},
            {"clocks", common_ ? "one clock" : "waits"},
            {"barriers", count_ * static_cast<std::int64_t>(lost_.size())}};
  }

 private:
  void pass_barrier(std::size_t i) {
    if (fault_.is("early") && context_.rank == 0) {  // leaves without waiting for the others
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibarrier(context_.comm, &request);
      exits_[i] = ticks();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      return;
    }
    if (fault_.is("early")) {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Ibarrier(context_.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      exits_[i] = ticks();
      return;
    }
    MPI_Barrier(context_.comm);
    exits_[i] = ticks();
  }

  // When this rank arrived at a barrier and left it, on a scale common to all ranks. Without a
  // common clock all ranks are assumed to leave at the same time: the rank that waited longest
  // arrived first. (A synchronised clock would go here: common_ = true, and both ticks in its
  // time.)
  double arrival(std::size_t i) const {
    return common_ ? seconds(arrivals_[i] - base_) : -seconds(exits_[i] - arrivals_[i]);
  }
  double exit(std::size_t i) const { return common_ ? seconds(exits_[i] - base_) : 0.0; }

  // Evaluates the last sample. Collective.
  void note() {
    if (!taken_) return;
    taken_ = false;
    const std::size_t count = arrivals_.size();
    std::vector<double> first(count);
    for (std::size_t i = 0; i < count; ++i) first[i] = arrival(i);
    std::vector<double> last = first;
    const int length = static_cast<int>(count);
    MPI_Allreduce(MPI_IN_PLACE, first.data(), length, MPI_DOUBLE, MPI_MIN, context_.comm);
    MPI_Allreduce(MPI_IN_PLACE, last.data(), length, MPI_DOUBLE, MPI_MAX, context_.comm);
    double sums[4] = {0.0, 0.0, 0.0, 0.0};  // waiting, spread, barrier, duration
    for (std::size_t i = 0; i < count; ++i) {
      const double late = arrival(i) - first[i];
      total_lateness_ += late;
      if (lateness_.size() < kMostSteps) lateness_.push_back(late);
      keep_worst(late);
      if (arrival(i) == last[i]) ++last_;
      if (common_ && exit(i) < last[i]) ++early_;
      sums[0] += last[i] - arrival(i);
      sums[1] += last[i] - first[i];
      sums[2] += exit(i) - last[i];
    }
    sums[3] = seconds(exits_.back() - begin_);
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, context_.comm);
    const double terms = static_cast<double>(count) * context_.size;
    lost_.push_back(sums[0] / sums[3]);
    spread_.push_back(sums[1] / terms);
    barrier_.push_back(sums[2] / terms);
  }

  void keep_worst(double late) {
    if (worst_.size() == kWorst && late <= worst_.back()) return;
    worst_.insert(std::upper_bound(worst_.begin(), worst_.end(), late, std::greater<>()), late);
    if (worst_.size() > kWorst) worst_.pop_back();
  }

  // Quantiles of this rank's lateness, linear between order statistics.
  std::vector<double> quantiles() const {
    std::vector<double> ordered = lateness_;
    std::sort(ordered.begin(), ordered.end());
    std::vector<double> values;
    for (const double level : kLevels) {
      const double place = level * static_cast<double>(ordered.size() - 1);
      const auto below = static_cast<std::size_t>(place);
      const std::size_t above = std::min(below + 1, ordered.size() - 1);
      const double share = place - static_cast<double>(below);
      values.push_back((1.0 - share) * ordered[below] + share * ordered[above]);
    }
    return values;
  }

  Context context_;
  double quantum_;
  std::int64_t count_;
  FixedWork work_;
  bool common_ = false;
  std::int64_t steps_ = 1;
  std::uint64_t calibration_ = 0;  // steps done before the first sample
  Ticks base_ = 0;
  Ticks begin_ = 0;
  std::vector<Ticks> arrivals_;
  std::vector<Ticks> exits_;
  bool taken_ = false;

  // Of all ranks, one per sample: the share of time spent waiting for later ranks; from first to
  // last arrival; from last arrival to exit.
  std::vector<double> lost_;
  std::vector<double> spread_;
  std::vector<double> barrier_;
  // Of this rank.
  std::vector<double> lateness_;
  std::vector<double> worst_;  // the greatest, descending
  double total_lateness_ = 0.0;
  std::int64_t last_ = 0;
  long long early_ = 0;
  ReportedRanks reported_;
  PlantedFault fault_;
  FixedWork more_{0};  // extra work of a planted late rank
};

ASSAY_KERNEL("noise.barrier", ArrivalAtBarrier);

}  // namespace
}  // namespace assay
