/* Another tool on MPI's profiling interface: counts sends, and prints their number in MPI_Finalize.
 * It makes a barrier of its own, which is not the program's. */
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(data, count, type, to, tag, comm);
}

int MPI_Finalize(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  printf("tool %d\n", sends);
  fflush(stdout);
  return PMPI_Finalize();
}
