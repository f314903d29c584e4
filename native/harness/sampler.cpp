#include "harness/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/appointments.hpp"
#include "harness/signals.hpp"

namespace assay {
namespace {

class Sampler {
 public:
  Sampler(MPI_Comm comm, Kernel& kernel, const Limits& limits, const ClockQuality& clock,
          const GlobalClock& global, Ticks begin)
      : comm_(comm),
        kernel_(kernel),
        limits_(limits),
        clock_(clock),
        global_(global),
        begin_(begin),
        start_(kernel.start()),
        appointments_(comm, global, clock) {
    MPI_Comm_rank(comm, &rank_);
    knows_skew_ = start_ == Start::kBarrier && kernel.uses_global_clock();
    keeps_fastest_ = kernel.keeps_fastest();
    counts_ = kernel.times_here();
    operations_ = kernel.operations_per_count();
    const auto room = static_cast<std::size_t>(std::min<std::int64_t>(limits.max_samples, 1 << 16));
    samples_.own.reserve(room);
    if (rank_ == 0) samples_.starts.reserve(room);
  }

  Samples run(const ProgressReport& report) {
    const std::int64_t most = start_ == Start::kAppointed ? 1 : kernel_.max_batch();
    bool going_on = true;
    if (most > 1) going_on = calibrate(least_sample(clock_, limits_.precision), most);
    StopRule rule(limits_);
    Decision decision;
    double per_sample = seconds(block_time_);
    while (going_on) {
      if (rank_ == 0) {
        decision = rule.next(samples_.values, seconds(ticks() - begin_), per_sample, signalled_);
      }
      long long message[] = {static_cast<long long>(decision.stop), decision.more};
      MPI_Bcast(message, 2, MPI_LONG_LONG, 0, comm_);
      decision = {static_cast<Stop>(message[0]), message[1]};
      if (decision.stop != Stop::kNone) break;
      going_on = block(decision.more);
      per_sample = seconds(block_time_) / static_cast<double>(decision.more);
      if (rank_ == 0 && going_on && report) report(samples_.values);
    }
    samples_.stop = decision.stop;
    samples_.signalled = signalled_;
    if (broken_anywhere_) {
      samples_.failure = agree(comm_, complaint_);
      Watchdog::disarm();
    }
    long long warmup = 0;
    if (rank_ == 0 && !samples_.failure) {
      samples_.summary = summarise(samples_.values, limits_.confidence);
      warmup = static_cast<long long>(samples_.summary.warmup);
    }
    MPI_Bcast(&warmup, 1, MPI_LONG_LONG, 0, comm_);
    samples_.summary.warmup = static_cast<std::size_t>(warmup);
    if (!samples_.failure) add_start_facts();
    return std::move(samples_);
  }

 private:
  // Takes and keeps one sample. After an exception this rank only takes part in communication, so
  // that the others reach the end of the block.
  void sample() {
    Ticks start = 0;
    Ticks finish = 0;
    if (start_ == Start::kAppointed) {
      bool enough = false;
      do {
        guarded([&] { kernel_.before_sample(); });
        MPI_Pcontrol(1);  // before the appointment, which it must not delay
        start = appointments_.await();
        guarded([&] { kernel_.run(1); });
        finish = global_.now();
        MPI_Pcontrol(0);
        enough = seconds(ticks() - begin_) > limits_.budget;
      } while (!appointments_.held(enough));
    } else {
      guarded([&] { kernel_.before_sample(); });
      if (start_ == Start::kBarrier) MPI_Barrier(comm_);
      MPI_Pcontrol(1);  // signals a profiler, if there is one, that the timed part begins
      start = ticks();
      guarded([&] { kernel_.run(samples_.batch); });
      finish = ticks();
      MPI_Pcontrol(0);
    }
    const double operations = static_cast<double>(samples_.batch) * operations_;
    samples_.own.push_back(seconds(finish - start) / operations);
    if (rank_ == 0)
      samples_.starts.push_back(start_ == Start::kAppointed ? global_.to_local(start) : start);
    if (knows_skew_) left_barrier_.push_back(global_.to_global(start));
  }

  template <typename Action>
  void guarded(Action action) {
    if (complaint_) return;
    try {
      action();
    } catch (...) {
      complaint_ = exception_message();
      Watchdog::arm(*complaint_);
    }
  }

  // Takes `count` samples and exchanges them. False if a rank has failed.
  bool block(std::int64_t count) {
    const Ticks before = ticks();
    for (std::int64_t i = 0; i < count; ++i) sample();
    block_time_ = ticks() - before;
    return gather(static_cast<std::size_t>(count));
  }

  // The maximum over the ranks of the last `count` samples on rank 0, and of the two flags on all.
  bool gather(std::size_t count) {
    std::vector<double> slowest(count + 2, 0.0);
    if (counts_)
      std::copy(samples_.own.end() - static_cast<std::ptrdiff_t>(count), samples_.own.end(),
                slowest.begin());
    slowest[count] = complaint_ ? 1.0 : 0.0;
    slowest[count + 1] = stop_requested() ? 1.0 : 0.0;
    // An allreduce because of the flags: every rank must know of a failure.
    MPI_Allreduce(MPI_IN_PLACE, slowest.data(), static_cast<int>(slowest.size()), MPI_DOUBLE,
                  MPI_MAX, comm_);
    broken_anywhere_ = slowest[count] > 0.0;
    signalled_ = slowest[count + 1] > 0.0;
    if (rank_ == 0) {
      samples_.values.insert(samples_.values.end(), slowest.begin(), slowest.end() - 2);
    }
    last_agreed_ = slowest[0];
    if (keeps_fastest_) gather_fastest(count);
    return !broken_anywhere_;
  }

  void gather_fastest(std::size_t count) {
    std::vector<double> least(count, std::numeric_limits<double>::infinity());
    if (counts_) {
      std::copy(samples_.own.end() - static_cast<std::ptrdiff_t>(count), samples_.own.end(),
                least.begin());
    }
    MPI_Allreduce(MPI_IN_PLACE, least.data(), static_cast<int>(count), MPI_DOUBLE, MPI_MIN, comm_);
    if (rank_ == 0) samples_.fastest.insert(samples_.fastest.end(), least.begin(), least.end());
  }

  // Finds the smallest batch that lasts `target` seconds twice in succession: once may be chance,
  // or only because everything is cold (pages, caches, connections). If a repetition would cost a
  // considerable part of the budget, once is enough. Samples of a smaller batch are dropped; those
  // of the final batch are kept as the first samples.
  bool calibrate(double target, std::int64_t most) {
    int long_enough = 0;
    for (;;) {
      if (!block(1)) return false;
      if (signalled_) return true;
      const double lasted = last_agreed_ * static_cast<double>(samples_.batch) * operations_;
      if (lasted >= target) {
        if (++long_enough == 2 || lasted > 0.05 * limits_.budget) return true;
        continue;
      }
      if (samples_.batch >= most) return true;
      const double factor = std::clamp(1.25 * target / std::max(lasted, 1e-9), 1.25, 1000.0);
      const double wanted = std::ceil(factor * static_cast<double>(samples_.batch));
      samples_.batch = static_cast<std::int64_t>(std::min(wanted, static_cast<double>(most)));
      samples_.own.clear();
      samples_.starts.clear();
      samples_.values.clear();
      samples_.fastest.clear();
      left_barrier_.clear();
      long_enough = 0;
    }
  }

  // Collective, once the warm-up is known.
  void add_start_facts() {
    if (start_ == Start::kAppointed) {
      samples_.facts["late_starts"] = appointments_.late();
      samples_.facts["late_kept"] = appointments_.kept();
    }
    if (knows_skew_ && !left_barrier_.empty()) samples_.facts["barrier_skew"] = barrier_skew();
  }

  // Median over the samples of the time between the first and the last rank to leave the barrier
  // before a sample, in seconds.
  double barrier_skew() {
    std::vector<Ticks> first = left_barrier_;
    std::vector<Ticks> last = left_barrier_;
    const int count = static_cast<int>(first.size());
    MPI_Allreduce(MPI_IN_PLACE, first.data(), count, MPI_INT64_T, MPI_MIN, comm_);
    MPI_Allreduce(MPI_IN_PLACE, last.data(), count, MPI_INT64_T, MPI_MAX, comm_);
    std::vector<double> skews;
    for (std::size_t i = samples_.summary.warmup; i < first.size(); ++i) {
      skews.push_back(seconds(last[i] - first[i]));
    }
    return median(std::move(skews));
  }

  MPI_Comm comm_;
  Kernel& kernel_;
  Limits limits_;
  ClockQuality clock_;
  const GlobalClock& global_;
  Ticks begin_;
  Start start_;
  Appointments appointments_;
  int rank_ = 0;
  bool knows_skew_ = false;
  bool keeps_fastest_ = false;
  bool counts_ = true;
  double operations_ = 1.0;
  Samples samples_;
  std::vector<Ticks> left_barrier_;  // global time, one per sample, for the skew
  Complaint complaint_;
  bool broken_anywhere_ = false;
  bool signalled_ = false;
  Ticks block_time_ = 0;
  double last_agreed_ = 0.0;
};

}  // namespace

double least_sample(const ClockQuality& clock, double precision) {
  const double step = std::max(clock.overhead, clock.resolution);
  return std::max(std::clamp(10.0 / precision, 1e3, 1e5) * step, 10e-6);
}

Samples take_samples(MPI_Comm comm, Kernel& kernel, const Limits& limits, const ClockQuality& clock,
                     const GlobalClock& global, Ticks begin, const ProgressReport& report) {
  return Sampler(comm, kernel, limits, clock, global, begin).run(report);
}

}  // namespace assay
