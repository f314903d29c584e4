// The process grid: ranks in P rows and Q columns.
#pragma once

#include <mpi.h>

namespace assay::linpack {

// Ranks fill the grid column by column: neighbours in rank, which share a node where possible,
// share a grid column, because its pivot searches and interchanges can't be overlapped with other
// work.
class Grid {
 public:
  // Collective. `rows` divides the ranks.
  Grid(MPI_Comm comm, int rows) : p(rows) {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    q = size / rows;
    my_row = rank % p;
    my_column = rank / p;
    MPI_Comm_split(comm, my_row, my_column, &row);
    MPI_Comm_split(comm, my_column, my_row, &column);
  }
  ~Grid() {
    MPI_Comm_free(&row);
    MPI_Comm_free(&column);
  }
  Grid(const Grid&) = delete;
  Grid& operator=(const Grid&) = delete;

  int p;
  int q;
  int my_row;
  int my_column;
  MPI_Comm row = MPI_COMM_NULL;     // this rank's grid row: ranks by grid column
  MPI_Comm column = MPI_COMM_NULL;  // and its grid column: ranks by grid row
};

}  // namespace assay::linpack
