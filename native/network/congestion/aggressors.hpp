// Traffic beside the victims: rounds of messages among the aggressors, from before the victims
// begin until they have ended.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "memory/pages.hpp"
#include "network/congestion/team.hpp"

namespace assay::congestion {

std::vector<std::string> pattern_names();

struct LoadTerms {
  std::string pattern;
  std::size_t bytes = 0;  // of a message
  double duty = 1.0;      // share of each period in which rounds begin
  double period = 0.01;   // s
};

// What this rank did in loaded blocks.
struct Load {
  std::int64_t rounds = 0;
  std::int64_t lapses = 0;  // blocks in which it had no traffic before the victims, or at their end
  double bytes = 0.0;       // received
  double seconds = 0.0;
  double pauses = 0.0;  // seconds without a message of its own in flight
};

class Aggressors {
 public:
  // Local; allocates. `places`: number of active nodes, at least two.
  Aggressors(const LoadTerms& terms, const Seat& seat, int places, const PlantedFault& fault);

  // Bytes that a rank's buffers take, at most.
  static double memory(const LoadTerms& terms, int places);

  // One loaded block. Collective over `world`, where the other ranks call meet_load() twice: none
  // returns from the first before each aggressor has completed a cycle of rounds, and rounds go on
  // until all have called the second.
  void run(const Team& team, MPI_Comm world);
  const Load& load() const { return load_; }
  void forget_load() { load_ = {}; }

  // Contents of messages in that round of the check; bytes that differ from it in all places.
  void prepare(std::size_t round);
  std::int64_t wrong_bytes(std::size_t round) const;
  // Planted fault: changes a byte of a message that this rank received, if there is one.
  void damage();

 private:
  class Block;

  // Messages go to one rank and come from another; MPI_PROC_NULL: none.
  struct Partners {
    int to = MPI_PROC_NULL;
    int from = MPI_PROC_NULL;
  };
  // Of this rank, the k-th in that round.
  Partners partners(std::int64_t round, int k) const;
  // Rounds until the pattern has used each of its pairs.
  std::int64_t cycle() const;
  bool receives() const;
  unsigned char* place(std::int64_t round, int k) const;
  // Calls action(bytes, source) for each message that the last block left.
  template <typename Action>
  void each_received(Action action) const;

  LoadTerms terms_;
  int rank_ = 0;
  int size_ = 0;
  int fan_ = 1;          // most partners of a rank in a round
  int generations_ = 1;  // rounds in flight
  PlantedFault fault_;
  Load load_;
  std::int64_t rounds_ = 0;  // of the last block
  Pages outgoing_;
  Pages incoming_;
};

// The part of other ranks in a loaded block: once before it, and once after it.
void meet_load(MPI_Comm world);

}  // namespace assay::congestion
