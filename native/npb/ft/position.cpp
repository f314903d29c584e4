#include "npb/ft/position.hpp"

namespace assay::npb {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of_comm(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  return size;
}

}  // namespace

FtPosition::FtPosition(const FtGrid& grid, MPI_Comm comm)
    : rank(rank_in(comm)),
      ranks(size_of_comm(comm)),
      works(static_cast<std::uint64_t>(rank) < grid.ranks()),
      across(static_cast<std::uint64_t>(rank) % grid.across),
      along(static_cast<std::uint64_t>(rank) / grid.across),
      across_group(comm, works ? static_cast<int>(along) : MPI_UNDEFINED),
      along_group(comm, works ? static_cast<int>(across) : MPI_UNDEFINED) {}

}  // namespace assay::npb
