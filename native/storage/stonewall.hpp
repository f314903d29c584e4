// A phase that writes for a given time, in which every rank writes as much as the fastest.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>

namespace assay {

// Throws KernelError after SIGTERM or SIGINT: a phase may last minutes, and its files must be
// removed before the process is killed.
void unless_stopped();

// Steps per rank when the time had passed.
struct Reached {
  std::int64_t most = 0;  // of the fastest rank: the steps of every rank in the end
  std::int64_t least = 0;
  bool limited = false;  // the fastest had no more steps to do before the time had passed
};

class Stonewall {
 public:
  // `progress`: called on each rank with the passed part of the time; may be empty.
  Stonewall(MPI_Comm comm, double seconds, std::function<void(double)> progress);

  // For tests: a clock on which each step of this rank takes that many seconds.
  void plant_clock(double seconds_per_step) { planted_ = seconds_per_step; }

  // Collective. step(0), step(1), … until the time has passed or `most` are done; then each rank
  // goes on until it has done as many as the fastest (wear-out). After an exception on a rank all
  // throw. `wears_out`: false plants the fault that this rank stops with the time.
  Reached run(std::int64_t most, const std::function<void(std::int64_t)>& step,
              bool wears_out = true) const;

 private:
  MPI_Comm comm_;
  double seconds_;
  std::function<void(double)> progress_;
  double planted_ = 0.0;
};

}  // namespace assay
