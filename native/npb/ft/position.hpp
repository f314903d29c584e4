// Position of this rank in FT's grid.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "npb/ft/grid.hpp"

namespace assay::npb {

// The ranks of a communicator with the same colour; MPI_UNDEFINED takes no part. Collective.
class FtGroup {
 public:
  FtGroup(MPI_Comm comm, int colour) { MPI_Comm_split(comm, colour, 0, &comm_); }
  ~FtGroup() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  FtGroup(const FtGroup&) = delete;
  FtGroup& operator=(const FtGroup&) = delete;
  MPI_Comm comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

// This rank's coordinates in the grid, and the communicators of the ranks that differ from it
// in only one coordinate. All ranks of `comm` construct it together. Ranks that the grid has no
// place for don't work and belong to no group.
struct FtPosition {
  FtPosition(const FtGrid& grid, MPI_Comm comm);

  int rank;
  int ranks;  // of comm, including those that don't work
  bool works;
  std::uint64_t across, along;
  FtGroup across_group, along_group;
};

}  // namespace assay::npb
