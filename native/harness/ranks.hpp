// Seats and numbers of the ranks. The launcher assigns seats; the harness numbers the ranks, so
// that a rank order means the same under every MPI.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

namespace assay {

// A rank's seat: hosts counted in the order in which the launcher began to fill them, ranks of a
// host in the launcher's order.
struct Seat {
  int host = 0;
  int local_rank = 0;
};

std::string host_name();

// The ranks of this node, numbered as in `world`; collective over it. They share memory and the
// host's name: if several hosts are namespaces of one machine, an MPI may report that all of them
// share memory.
MPI_Comm ranks_of_node(MPI_Comm world);

// The seat of every rank of `world`, by rank; collective. `node`: the result of ranks_of_node.
std::vector<Seat> find_seats(MPI_Comm world, MPI_Comm node);

// The node of each rank of `world`, counted from 0 in the order of their first ranks; collective.
std::vector<int> nodes_of_ranks(MPI_Comm world, MPI_Comm node);

// The number of the rank in each of the seats. "block": host after host; "cyclic": the first rank
// of each host, then the second of each; "reversed": block from the end; "folded": cyclic, with the
// hosts backwards for every second rank of a host; "0,2,1,3": ranks 0, 1, 2, 3 take these seats,
// which are counted in block order. JobError for any other word, and for a list
// that doesn't name each seat once.
std::vector<int> number_ranks(const std::string& order, const std::vector<Seat>& seats);

}  // namespace assay
