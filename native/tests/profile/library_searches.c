/* Counts how often libraries are searched for while messages are sent, by a dlopen of its own, and
 * prints it. For tests/native/trace/test_device_memory.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int searches;

void* dlopen(const char* path, int flags) {
  void* (*next)(const char*, int) = (void* (*)(const char*, int))dlsym(RTLD_NEXT, "dlopen");
  ++searches;
  return next(path, flags);
}

static void send(int times) {
  for (int i = 0, sum = 0; i < times; ++i) {
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    usleep(1000);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  send(5);
  searches = 0;
  send(50);
  printf("%d searches\n", searches);
  MPI_Finalize();
  return 0;
}
