// Broadcasts of a panel along a row of the process grid, which go on behind other work.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace assay::linpack {

enum class BroadcastScheme {
  library,
  ring,
  modified_ring,
  two_rings,
  modified_two_rings,
  bandwidth
};

// One broadcast at a time over the ranks of `row`; two such objects may be under way at once. For
// the thread that calls MPI.
class PanelBroadcast {
 public:
  // Collective. Duplicates the communicator.
  PanelBroadcast(MPI_Comm row, BroadcastScheme scheme);
  ~PanelBroadcast();
  PanelBroadcast(const PanelBroadcast&) = delete;
  PanelBroadcast& operator=(const PanelBroadcast&) = delete;

  // Collective, with the same count and root everywhere: sends `count` doubles of root's buffer to
  // all others' buffers. Never waits. The buffer must stay, and root's unchanged, until the end.
  // The broadcast before must be finished on this rank.
  void start(double* buffer, std::size_t count, int root);

  // Moves it on without waiting. True when this rank has the data and owes nobody any more, and
  // where nothing was started.
  bool progress();

  // Waits for that.
  void finish();

 private:
  MPI_Comm row_ = MPI_COMM_NULL;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace assay::linpack
