// Broadcasts of a panel along a row of the process grid, overlapped with other work.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "linpack/transfers.hpp"

namespace assay::linpack {

// How the data travel from the root over the ranks, which are numbered from the root. The rings
// and "bandwidth" follow Petitet, Whaley, Dongarra & Cleary, HPL, "Panel broadcast"
// (https://www.netlib.org/benchmark/hpl/algorithm.html); here all of them send in pieces.
enum class BroadcastScheme {
  library,             // MPI_Ibcast
  ring,                // from each to the next
  modified_ring,       // rank 1, which has the next panel to factor, first and alone; a ring of the
                       // others
  two_rings,           // two rings of half the ranks each
  modified_two_rings,  // rank 1 first and alone; two rings of the others
  bandwidth,           // a share to each rank, then the shares round a ring
};

// The messages that rank `rank` of `ranks` receives and sends in a broadcast of `count` doubles;
// the schedule uses MPI's ranks. Not for `library`.
Schedule broadcast_schedule(BroadcastScheme scheme, int rank, int ranks, int root,
                            std::size_t count);

// One broadcast at a time over the ranks of `row`; two such objects may be active concurrently. For
// the thread that calls MPI.
class PanelBroadcast {
 public:
  // Collective. Duplicates the communicator.
  PanelBroadcast(MPI_Comm row, BroadcastScheme scheme);
  ~PanelBroadcast();
  PanelBroadcast(const PanelBroadcast&) = delete;
  PanelBroadcast& operator=(const PanelBroadcast&) = delete;

  // Collective, with the same count and root everywhere: sends `count` doubles of the root's buffer
  // to the buffers of all other ranks. Never waits. Buffers must exist until the broadcast is
  // finished. Until then the root's buffer must not change and the others must not be read. The
  // previous broadcast must be finished on this rank.
  void start(double* buffer, std::size_t count, int root);

  // Makes progress without waiting. True if nothing was started, or if this rank has the data and
  // has sent all its messages.
  bool progress();

  // Waits until progress() is true.
  void finish();

 private:
  BroadcastScheme scheme_;
  MPI_Comm row_ = MPI_COMM_NULL;
  int rank_ = 0;
  int ranks_ = 1;
  MPI_Request request_ = MPI_REQUEST_NULL;  // of the library's
  Schedule schedule_;
  Transfers transfers_;
};

}  // namespace assay::linpack
