// Time per phase of a benchmark: seconds of each phase in each sample, as series of the
// measurement; and the progress within a sample.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/kernel.hpp"

namespace assay {

// For use by the thread that calls MPI only. A communication phase includes waiting for other
// ranks, and a computation phase waiting for the rank's other threads.
class Phases {
 public:
  explicit Phases(std::vector<std::string> names);
  ~Phases();

  // Executes the action, and adds its time to the phase with that number. Phases do not nest.
  template <typename Action>
  void in(std::size_t phase, Action action) {
    const Ticks start = ticks();
    action();
    now_[phase] += ticks() - start;
  }

  // Executes the action, and adds to the phase the part of its time that no inner phase counted.
  template <typename Action>
  void around(std::size_t phase, Action action) {
    const Ticks given = std::accumulate(now_.begin(), now_.end(), Ticks{0});
    const Ticks start = ticks();
    action();
    const Ticks all = ticks() - start;
    now_[phase] += all - (std::accumulate(now_.begin(), now_.end(), Ticks{0}) - given);
  }

  // From now on done() reports progress, on rank 0; `context` need not outlive this.
  void report_to(const Context& context) { progress_ = context.progress; }

  // The completed share of the current sample, 0 to 1.
  void done(double share) const {
    if (progress_) progress_(share, {});
  }
  void done(int steps, int all) const { done(static_cast<double>(steps) / all); }

  // Resets the counts since the last sample.
  void restart() { std::fill(now_.begin(), now_.end(), Ticks{0}); }

  void end_sample() {
    for (std::size_t phase = 0; phase < names_.size(); ++phase) {
      samples_[phase].push_back(seconds(now_[phase]));
      now_[phase] = 0;
    }
  }

  // Collective: on rank 0 the mean of each phase over the ranks, per sample; nothing elsewhere. The
  // means of all phases add up to the mean of the ranks' times. If the first phase is called
  // "compute" and there are several ranks, also its minimum and maximum over the ranks: the
  // difference between mean and maximum is time that ranks wait for the slowest.
  std::vector<Series> series(MPI_Comm comm) const;

 private:
  std::vector<std::string> names_;
  std::vector<Ticks> now_;
  std::vector<std::vector<double>> samples_;
  decltype(Context::progress) progress_;
};

}  // namespace assay
