// One clock for all ranks: each reads its own, and knows how that reads against rank 0's.
#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/clock_model.hpp"

namespace assay {

using LocalClock = std::function<Ticks()>;

// Equal on all processes that CLOCK_MONOTONIC reads alike on: those of one boot of one kernel, in
// one time namespace. Where the system doesn't tell, no two processes are taken to share a clock.
std::string clock_domain();

// How much is spent on a synchronisation between clocks that differ.
struct SyncEffort {
  int exchanges = 20;  // round trips behind a fit point
  int points = 20;     // fit points of the first synchronisation,
  double span = 0.2;   // spread over so many seconds; later ones add a point each
};

// Ranks that share a clock have offset 0 by construction. Between clocks, offset and drift are
// estimated along a binomial tree over one leader for each clock: all edges of a level at once, so
// that a thousand hosts take ten levels; the models are composed from the root down (Hunold &
// Carpen-Amarie, Hierarchical clock synchronization in MPI, CLUSTER 2018). The fit points of
// earlier synchronisations of the launch go on counting, as long as clocks run evenly, because the
// drift is the better known the longer they reach back.
class GlobalClock {
 public:
  // Collective over `comm`, of which it makes a copy where there is more than one clock. `read` is
  // the clock of this rank.
  explicit GlobalClock(MPI_Comm comm, const std::string& domain = clock_domain(),
                       LocalClock read = ticks, const SyncEffort& effort = {});
  ~GlobalClock();
  GlobalClock(const GlobalClock&) = delete;
  GlobalClock& operator=(const GlobalClock&) = delete;

  // Collective. Nothing happens where all ranks share a clock.
  void synchronise();

  // How far the clocks have come apart: seconds, the greatest over the hosts. `error`: between rank
  // 0's clock as each host predicts it, and as messages exchanged now and directly tell it, which
  // is known up to half of `round_trip`.
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
  int place_ = 0;                   // among the leaders
  std::vector<Ticks> passes_;       // rank 0: when each was made
  std::vector<ClockPoint> points_;  // against the parent in the tree, one a pass
  ClockModel model_;
};

}  // namespace assay
