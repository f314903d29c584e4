// Where the time of a benchmark goes: seconds of each phase in each sample, as series of the
// measurement; and how far the sample is meanwhile.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/kernel.hpp"

namespace assay {

// For the thread that calls MPI alone. A phase of communication holds the waiting for others too,
// and one of computation that for the rank's other threads.
class Phases {
 public:
  explicit Phases(std::vector<std::string> names)
      : names_(std::move(names)), now_(names_.size()), samples_(names_.size()) {}

  // Does it, and counts the time it takes to the phase of that number. Phases do not nest.
  template <typename Action>
  void in(std::size_t phase, Action action) {
    const Ticks start = ticks();
    action();
    now_[phase] += ticks() - start;
  }

  // Does it, and counts to the phase what of its time no phase within it was given.
  template <typename Action>
  void around(std::size_t phase, Action action) {
    const Ticks given = std::accumulate(now_.begin(), now_.end(), Ticks{0});
    const Ticks start = ticks();
    action();
    const Ticks all = ticks() - start;
    now_[phase] += all - (std::accumulate(now_.begin(), now_.end(), Ticks{0}) - given);
  }

  // From now on done() passes on what it is told, on rank 0; `context` need not outlive this.
  void report_to(const Context& context) { progress_ = context.progress; }

  // What share of the sample under way is done, 0 to 1.
  void done(double share) const {
    if (progress_) progress_(share, {});
  }
  void done(int steps, int all) const { done(static_cast<double>(steps) / all); }

  // Forgets what was counted since the last sample.
  void restart() { std::fill(now_.begin(), now_.end(), Ticks{0}); }

  void end_sample() {
    for (std::size_t phase = 0; phase < names_.size(); ++phase) {
      samples_[phase].push_back(seconds(now_[phase]));
      now_[phase] = 0;
    }
  }

  // Collective: on rank 0 each phase's mean over the ranks, sample by sample; nothing elsewhere.
  // The means of all phases add up to the mean of the ranks' times. Where the first phase is
  // called "compute", of several ranks also the least and the most that any of them spent in it:
  // what is between the mean and the most, the ranks wait for their slowest.
  std::vector<Series> series(MPI_Comm comm) const {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    std::vector<double> own;
    for (const auto& each : samples_) own.insert(own.end(), each.begin(), each.end());
    std::vector<double> means = over_ranks(own, MPI_SUM, comm);
    for (double& mean : means) mean /= size;
    std::vector<Series> all;
    for (std::size_t phase = 0; phase < names_.size(); ++phase) {
      std::vector<double> mean = of_phase(means, phase);
      const bool any =
          std::any_of(mean.begin(), mean.end(), [](double value) { return value > 0; });
      if (rank == 0 && any) all.push_back({names_[phase], "s", {}, {}, std::move(mean)});
    }
    if (size == 1 || names_[0] != "compute") return all;
    std::vector<double> least = over_ranks(samples_[0], MPI_MIN, comm);
    std::vector<double> most = over_ranks(samples_[0], MPI_MAX, comm);
    if (rank == 0) {
      all.push_back({"least_compute", "s", {}, {}, std::move(least)});
      all.push_back({"most_compute", "s", {}, {}, std::move(most)});
    }
    return all;
  }

 private:
  // Collective, of all phases at once: an MPI library may take memory for a communicator that
  // carries more than a few operations.
  static std::vector<double> over_ranks(std::vector<double> values, MPI_Op op, MPI_Comm comm) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, op,
                  comm);
    return values;
  }

  // Those of one phase among the samples of all.
  std::vector<double> of_phase(const std::vector<double>& values, std::size_t phase) const {
    const auto count = static_cast<std::ptrdiff_t>(samples_[phase].size());
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(phase) * count;
    return {begin, begin + count};
  }

  std::vector<std::string> names_;
  std::vector<Ticks> now_;
  std::vector<std::vector<double>> samples_;
  decltype(Context::progress) progress_;
};

}  // namespace assay
