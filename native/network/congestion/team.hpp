// Which nodes are victims and which are aggressors, and the communicators of both.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace assay::congestion {

enum class Role : int { kVictim, kAggressor, kIdle };

// Nodes by number, in the drawn order.
struct Division {
  std::vector<int> victims;
  std::vector<int> aggressors;  // the active ones
};

// Half of the nodes, rounded down and drawn at random, are victims; of the others that share is
// active, rounded to nodes.
Division divide(int nodes, double share, std::uint64_t draw);

// The part of a rank. `place`: of its node among the nodes of its role; `slice`: its index among
// the ranks of its node.
struct Seat {
  Role role = Role::kIdle;
  int place = 0;
  int slice = 0;
};

// `nodes`: of each rank. Throws KernelError unless every node has the same number of ranks.
Seat seat_of(const Division& division, const std::vector<int>& nodes, int rank);

// The ranks of one role. A slice has one rank of each node, by place.
class Team {
 public:
  // Collective over `comm`.
  Team(MPI_Comm comm, const Seat& seat);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  MPI_Comm all() const { return all_; }  // slice by slice, by place within each
  MPI_Comm slice() const { return slice_; }

 private:
  MPI_Comm all_ = MPI_COMM_NULL;
  MPI_Comm slice_ = MPI_COMM_NULL;
};

}  // namespace assay::congestion
