/* Programs with one reason that they aren't faster, for tests of `assay why`. Arguments: the
 * reason, the number of steps, and the work of a step in loops. Ranks do the same arithmetic in
 * each launch, however long it takes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 96 /* MiB that a pass over memory reads */

static int rank, size;
static volatile double result;
static double* data;
static long* line; /* a cache line that all ranks of the host share */
static MPI_Win window;
static const size_t length = (size_t)MOST * 1024 * 1024 / sizeof(double);

__attribute__((noinline)) static void compute(double loops) {
  double value = 1.0;
  for (long i = 0; i < (long)loops; ++i) value = value * 1.0000001 + 1e-9;
  result = value;
}

/* Each rank has its own data, larger than its caches. */
__attribute__((noinline)) static void stream(double loops) {
  double sum = 0.0;
  for (long pass = 0; pass * 1e7 < loops; ++pass) {
    for (size_t i = 0; i < length; ++i) data[i] = data[i] * 1.0000001 + 1e-9;
    sum += data[(size_t)pass % length];
  }
  result = sum;
}

/* Each rank counts in a word of its own, but all words are in one cache line, which the cores take
 * from each other. */
__attribute__((noinline)) static void count_up(double loops) {
  for (long i = 0; i < (long)loops; ++i) __atomic_fetch_add(line + rank % 8, 1, __ATOMIC_SEQ_CST);
}

static void share_a_line(void) {
  MPI_Comm host;
  MPI_Aint bytes;
  int unit;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host);
  MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, host, &line, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &line);
  MPI_Comm_free(&host);
}

__attribute__((noinline)) static void reduce(void) {
  double mine = result, all = 0.0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void prepare(double loops) {
  if (rank != 0) return;
  compute(loops);
  for (int other = 1; other < size; ++other) MPI_Send(&size, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void take(void) {
  int received = 0;
  if (rank != 0) MPI_Recv(&received, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void serial(double loops) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) compute(loops);
  MPI_Barrier(MPI_COMM_WORLD);
}

__attribute__((noinline)) static void whisper(int messages) {
  int word = rank, heard = 0;
  for (int i = 0; i < messages; ++i) {
    MPI_Request request;
    MPI_Irecv(&heard, 1, MPI_INT, (rank + size - 1) % size, 2, MPI_COMM_WORLD, &request);
    MPI_Send(&word, 1, MPI_INT, (rank + 1) % size, 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* To the next rank, from the one before: messages of two sizes, so that bytes show their cost. */
__attribute__((noinline)) static void move(void) {
  static int number;
  const int bytes = number++ % 2 ? 1 << 19 : 1 << 16;
  MPI_Sendrecv(data, bytes, MPI_BYTE, (rank + 1) % size, 3, data + length / 2, bytes, MPI_BYTE,
               (rank + size - 1) % size, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void step(const char* reason, double loops) {
  if (strcmp(reason, "imbalance") == 0) {
    compute(rank == size - 1 ? 1.3 * loops : loops);
  } else if (strcmp(reason, "serial") == 0) {
    compute(0.8 * loops);
    serial(0.2 * loops * size);
  } else if (strcmp(reason, "late") == 0) {
    prepare(0.4 * loops);
    take();
    compute(loops);
  } else if (strcmp(reason, "tiny") == 0) {
    compute(0.002 * loops);
    whisper(200);
  } else if (strcmp(reason, "line") == 0) {
    count_up(0.1 * loops);
  } else if (strcmp(reason, "large") == 0) {
    compute(loops);
    move();
  } else if (strcmp(reason, "memory") == 0) {
    stream(loops);
  } else {
    compute(loops);
  }
  reduce();
}

int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (count < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  data = (double*)malloc(length * sizeof *data);
  for (size_t i = 0; i < length; ++i) data[i] = 1.0;
  const int shares = strcmp(words[1], "line") == 0;
  if (shares) share_a_line();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < atoi(words[2]); ++i) step(words[1], atof(words[3]));
  if (shares) MPI_Win_free(&window);
  free(data);
  MPI_Finalize();
  return 0;
}
