/* Programs that could be faster. Arguments: the kind, and how often. For
 * tests/native/trace/test_advice.py.
 *
 * tiny: each rank sends 64 messages of 8 B to its neighbour, one after the other, and computes.
 * exchange: ranks swap 64 numbers with their neighbours one by one, and compute.
 * transfer: rank 1 receives 4 MB from rank 0 right before it computes.
 * spin: ranks compute, and meet; for more ranks than CPUs. The last one computes three times as
 * long. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 64, BYTES = 4 << 20 };
static int rank, size;
static char* buffer;

static void compute(double seconds) {
  const double until = MPI_Wtime() + seconds;
  while (MPI_Wtime() < until);
}

static void tiny(void) {
  MPI_Request requests[MESSAGES];
  double in[MESSAGES];
  const double out = 1.0;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Irecv(&in[i], 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < MESSAGES; ++i) MPI_Send(&out, 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD);
  MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
  compute(6e-5);
}

static void exchange(void) {
  const double out = 1.0;
  double in = 0.0;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, 1, &in, 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  compute(6e-5);
}

static void transfer(void) {
  char done = 0;
  if (rank == 0) {
    MPI_Send(buffer, BYTES, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    MPI_Recv(&done, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(buffer, BYTES, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    compute(4e-3);
    MPI_Send(&done, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
  }
}

static void spin(void) {
  compute(rank == size - 1 ? 6e-3 : 2e-3);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc < 3) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  buffer = malloc(BYTES);
  if (!buffer) return 1;
  memset(buffer, rank, BYTES);
  const int times = atoi(argv[2]);
  for (int i = 0; i < times; ++i) {
    if (!strcmp(argv[1], "tiny")) tiny();
    if (!strcmp(argv[1], "exchange")) exchange();
    if (!strcmp(argv[1], "transfer")) transfer();
    if (!strcmp(argv[1], "spin")) spin();
  }
  free(buffer);
  MPI_Finalize();
  return 0;
}
