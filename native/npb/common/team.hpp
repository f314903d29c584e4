// All threads of all ranks working on one problem: their sums and barriers.
#pragma once

#include <mpi.h>
#include <omp.h>

#include <array>
#include <vector>

#include "harness/phases.hpp"

namespace assay::npb {

// State shared by the threads of one rank.
class Team {
 public:
  // The time of the sums over ranks is added to that phase, if any.
  Team(MPI_Comm comm, int threads, Phases* phases = nullptr, std::size_t sums = 0)
      : comm_(comm), phases_(phases), sums_(sums) {
    MPI_Comm_size(comm, &ranks_);
    for (auto& parts : parts_) parts.resize(threads);
  }

 private:
  friend class Member;

  using Pair = std::array<double, 2>;
  struct alignas(64) Part {
    Pair value{};
  };

  Pair sum_of(const std::vector<Part>& parts) const {
    Pair total{};
    for (const Part& part : parts) {
      total[0] += part.value[0];
      total[1] += part.value[1];
    }
    return total;
  }

  void add_up_ranks() {
    const auto reduce = [this] {
      MPI_Allreduce(MPI_IN_PLACE, total_.data(), 2, MPI_DOUBLE, MPI_SUM, comm_);
    };
    if (phases_) {
      phases_->in(sums_, reduce);
    } else {
      reduce();
    }
  }

  MPI_Comm comm_;
  Phases* phases_;
  std::size_t sums_;
  int ranks_ = 1;
  std::array<std::vector<Part>, 2> parts_;
  Pair total_{};
};

// One thread's view, created inside a parallel region of exactly the team's threads. All threads
// call the same functions in the same order; only the master thread calls MPI. Parts are added in
// the order of threads, so that a sum is reproducible.
class Member {
 public:
  explicit Member(Team& team) : team_(team), thread_(omp_get_thread_num()) {}

  int thread() const { return thread_; }

  // The sums over all threads of all ranks, on every thread.
  std::array<double, 2> sum(double first, double second) {
    // Two sets of parts alternate: a thread that writes a set again has passed the barrier of the
    // other one, and by then all threads have read this one.
    turn_ ^= 1;
    auto& parts = team_.parts_[turn_];
    parts[thread_].value = {first, second};
#pragma omp barrier
    if (team_.ranks_ == 1) return team_.sum_of(parts);
#pragma omp master
    {
      team_.total_ = team_.sum_of(parts);
      team_.add_up_ranks();
    }
#pragma omp barrier
    return team_.total_;
  }

  double sum(double mine) { return sum(mine, 0.0)[0]; }

  // Afterwards every thread sees earlier writes of all threads and the data from other ranks that
  // `exchange` received; the master thread calls it if there are other ranks.
  template <typename Exchange>
  void rendezvous(Exchange exchange) {
#pragma omp barrier
    if (team_.ranks_ == 1) return;
#pragma omp master
    exchange();
#pragma omp barrier
  }

 private:
  Team& team_;
  int thread_;
  int turn_ = 0;
};

}  // namespace assay::npb
