// A global clock for all ranks: each reads its local clock and maps it to rank 0's clock.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/clock_model.hpp"

namespace assay {

using LocalClock = std::function<Ticks()>;

// Equal on all processes for which CLOCK_MONOTONIC is the same clock, that is, with the same boot
// of one kernel and the same time namespace. If the system doesn't report this, no two processes
// are assumed to share a clock.
std::string clock_domain();

// Effort of one synchronisation between different clocks.
struct SyncEffort {
  int exchanges = 20;  // round trips per fit point
  int points = 20;     // fit points of the first synchronisation,
  double span = 0.2;   // s, over which they are spread; each later synchronisation adds one point
};

// Ranks that share a clock have offset 0 by construction. Between clocks, offset and drift are
// estimated along a binomial tree over one leader per clock: all edges of a level concurrently, so
// that a thousand hosts take ten levels; the models are composed from the root down (Hunold &
// Carpen-Amarie, Hierarchical clock synchronization in MPI, CLUSTER 2018). The fit points of
// earlier synchronisations of the launch remain in use as long as clocks run evenly: a longer span
// determines the drift more precisely.
class GlobalClock {
 public:
  // Collective over `comm`, which is duplicated if there is more than one clock. `read` is the
  // clock of this rank.
  explicit GlobalClock(MPI_Comm comm, const std::string& domain = clock_domain(),
                       LocalClock read = ticks, const SyncEffort& effort = {});
  ~GlobalClock();
  GlobalClock(const GlobalClock&) = delete;
  GlobalClock& operator=(const GlobalClock&) = delete;

  // Collective. Does nothing if all ranks share a clock.
  void synchronise();

  // How far the clocks have diverged: seconds, the maximum over the hosts. `error`: between rank
  // 0's clock as each host predicts it and as messages exchanged directly at this moment show it;
  // the latter is known to within half of `round_trip`.
  struct Agreement {
    double error = 0.0;
    double round_trip = 0.0;
  };
  // Collective.
  Agreement check() const;

  int domains() const { return domains_; }
  const ClockModel& model() const { return model_; }

  Ticks local() const { return read_(); }
  Ticks now() const { return model_.to_reference(read_()); }
  Ticks to_global(Ticks local) const { return model_.to_reference(local); }
  Ticks to_local(Ticks global) const { return model_.to_local(global); }

 private:
  // Both sides of one fit point; ranks of `leaders_`.
  ClockPoint ask(int leader) const;
  void serve(int leader) const;
  void pass();
  void compose();

  LocalClock read_;
  SyncEffort effort_;
  MPI_Comm all_ = MPI_COMM_NULL;      // null, like the others, where there is one clock
  MPI_Comm sharers_ = MPI_COMM_NULL;  // the ranks of this clock
  MPI_Comm leaders_ = MPI_COMM_NULL;  // the first rank of each clock; null elsewhere
  int domains_ = 1;
  int place_ = 0;                   // index among the leaders
  std::vector<Ticks> passes_;       // rank 0: time of each synchronisation
  std::vector<ClockPoint> points_;  // against the parent in the tree, one per synchronisation
  ClockModel model_;
};

}  // namespace assay
