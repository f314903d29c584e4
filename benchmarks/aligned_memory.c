// What MPI_Alloc_mem gives begins at a page, as the buffers of assay's kernels do; for LD_PRELOAD.
// The C library's memory begins at any multiple of 16 bytes, which copies and sums can tell.
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* start) {
  void** const to = start;
  (void)info;
  return posix_memalign(to, (size_t)sysconf(_SC_PAGESIZE), (size_t)size) ? MPI_ERR_NO_MEM
                                                                         : MPI_SUCCESS;
}

int MPI_Free_mem(void* start) {
  free(start);
  return MPI_SUCCESS;
}
