// Messages from memory of a device and of the host, in known numbers. Arguments: the device library
// ("cuda", "hip" or "none"), and "late": it is loaded after MPI_Init.
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kCount = 1000, kRounds = 5 };

typedef int (*Allocate)(uint64_t*, size_t);
typedef int (*LastError)(void);

static void* library;

static char* device_buffer(const char* name) {
  const int cuda = strcmp(name, "cuda") == 0;
  library = dlopen(cuda ? "libcuda.so.1" : "libamdhip64.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(2);
  }
  Allocate allocate = (Allocate)dlsym(library, cuda ? "cuMemAlloc_v2" : "hipMalloc");
  uint64_t at = 0;
  if (!allocate || allocate(&at, 4 * kCount)) exit(3);
  // As on a real device, whose library takes longer than this to begin.
  const struct timespec pause = {0, 20000000};
  nanosleep(&pause, NULL);
  return (char*)(uintptr_t)at;
}

int main(int argc, char** argv) {
  const char* const name = argc > 1 ? argv[1] : "none";
  const int late = argc > 2, none = strcmp(name, "none") == 0;
  char* host = calloc(4, kCount);
  char* device = none || late ? host : device_buffer(name);
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (late && !none) device = device_buffer(name);
  memset(device, 0, 4 * kCount);
  for (int i = 0; i < kRounds; ++i) {
    if (rank == 0) {
      MPI_Send(device, kCount, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Send(host, kCount, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Send(device + 100, 10, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else {
      MPI_Recv(host, kCount, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(device, kCount, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(device + kCount, 10, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(MPI_IN_PLACE, device, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, host, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(device, 0, MPI_BYTE, 0, MPI_COMM_WORLD);
  }
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(device, kCount, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
  } else {
    MPI_Recv_init(host, kCount, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
  }
  for (int i = 0; i < kRounds; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  // The profile's questions leave no error of HIP behind.
  LastError last = none ? NULL : (LastError)dlsym(library, "hipGetLastError");
  if (last && last()) printf("rank %d has an error\n", rank);
  MPI_Finalize();
  return 0;
}
