/* A tool behind the profiling library whose MPI_Wait returns late: meanwhile the handle of the
 * request that it completed goes to a request of another thread. */
#include <mpi.h>
#include <unistd.h>

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const int result = PMPI_Wait(request, status);
  usleep(200);
  return result;
}
