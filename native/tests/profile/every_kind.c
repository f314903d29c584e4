/* Calls of every kind on two ranks or more, each counted by the program itself: it prints
 * "RANK NAME COUNT" per function. For tests/native/trace/test_every_kind.py. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 256
static struct {
  const char* name;
  int count;
} counts[MOST];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void count(const char* name, int calls) {
  pthread_mutex_lock(&mutex);
  int i = 0;
  while (i < MOST - 1 && counts[i].name && strcmp(counts[i].name, name) != 0) ++i;
  counts[i].name = name;
  counts[i].count += calls;
  pthread_mutex_unlock(&mutex);
}

#define CALL(name, ...) (count(#name, 1), MPI_##name(__VA_ARGS__))

static int rank, size, next, before;

static void point_to_point(void) {
  int out[8] = {0}, in[64] = {0}, index = 0, flag = 0, done = 0, indices[4];
  MPI_Request requests[4];
  MPI_Status statuses[4];
  MPI_Message message;
  CALL(Irecv, in, 64, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  CALL(Issend, out, 3, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[1]);
  CALL(Waitany, 2, requests, &index, MPI_STATUS_IGNORE);
  CALL(Waitany, 2, requests, &index, MPI_STATUS_IGNORE);
  CALL(Sendrecv, out, 4, MPI_INT, next, 6, in, 8, MPI_INT, before, MPI_ANY_TAG, MPI_COMM_WORLD,
       MPI_STATUS_IGNORE);
  CALL(Sendrecv_replace, out, 2, MPI_INT, next, 7, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, statuses);
  CALL(Isend, out, 5, MPI_INT, next, 8, MPI_COMM_WORLD, &requests[0]);
  CALL(Probe, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, statuses);
  CALL(Recv, in, 64, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CALL(Wait, requests, MPI_STATUS_IGNORE);
  CALL(Isend, out, 6, MPI_INT, next, 9, MPI_COMM_WORLD, &requests[0]);
  CALL(Mprobe, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
  CALL(Mrecv, in, 64, MPI_INT, &message, MPI_STATUS_IGNORE);
  CALL(Wait, requests, MPI_STATUS_IGNORE);
  CALL(Send, out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  for (int i = 0; i < 2; ++i) {
    CALL(Irecv, in + 8 * i, 8, MPI_INT, before, 10 + i, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < 2; ++i) {
    CALL(Isend, out, 1 + i, MPI_INT, next, 11 - i, MPI_COMM_WORLD, &requests[2 + i]);
  }
  for (int left = 4; left > 0; left -= done) {
    CALL(Waitsome, 4, requests, &done, indices, MPI_STATUSES_IGNORE);
  }
  CALL(Irecv, in, 1, MPI_INT, before, 12, MPI_COMM_WORLD, &requests[0]);
  CALL(Send, out, 1, MPI_INT, next, 12, MPI_COMM_WORLD);
  while (!flag) CALL(Test, requests, &flag, MPI_STATUS_IGNORE);
}

static void persistent(void) {
  int out[4] = {0}, in[4] = {0};
  MPI_Request requests[2];
  CALL(Send_init, out, 4, MPI_INT, next, 20, MPI_COMM_WORLD, &requests[0]);
  CALL(Recv_init, in, 4, MPI_INT, before, 20, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, requests);
    count("Start", 1);
    count("Start_receive", 1);
    CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
  }
  CALL(Request_free, &requests[0]);
  CALL(Request_free, &requests[1]);
#if MPI_VERSION >= 4
  MPI_Request sum;
  CALL(Allreduce_init, out, in, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &sum);
  for (int i = 0; i < 2; ++i) {
    CALL(Start, &sum);
    CALL(Wait, &sum, MPI_STATUS_IGNORE);
  }
  CALL(Request_free, &sum);
  MPI_Request parts;
  if (rank == 0) {
    CALL(Psend_init, out, 2, 2, MPI_INT, 1, 21, MPI_COMM_WORLD, MPI_INFO_NULL, &parts);
    CALL(Start, &parts);
    CALL(Pready, 1, parts);
    CALL(Pready, 0, parts);
    CALL(Wait, &parts, MPI_STATUS_IGNORE);
    CALL(Request_free, &parts);
  } else if (rank == 1) {
    CALL(Precv_init, in, 2, 2, MPI_INT, 0, 21, MPI_COMM_WORLD, MPI_INFO_NULL, &parts);
    MPI_Start(&parts);
    count("Start_receive", 1);
    CALL(Wait, &parts, MPI_STATUS_IGNORE);
    CALL(Request_free, &parts);
  }
#endif
}

static void collectives(void) {
  int out[64] = {0}, in[64] = {0};
  MPI_Comm half, copy, ring, late;
  MPI_Request request;
  const int periods[1] = {1};
  CALL(Comm_split, MPI_COMM_WORLD, rank % 2, rank, &half);
  CALL(Comm_dup, half, &copy);
  CALL(Comm_idup, MPI_COMM_WORLD, &late, &request);
  CALL(Wait, &request, MPI_STATUS_IGNORE);
  CALL(Barrier, half);
  CALL(Bcast, out, 3, MPI_INT, 0, copy);
  CALL(Allreduce, out, in, 2, MPI_INT, MPI_SUM, late);
  CALL(Iallreduce, out, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  CALL(Wait, &request, MPI_STATUS_IGNORE);
  CALL(Reduce, out, in, 2, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
  CALL(Alltoall, out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  CALL(Cart_create, MPI_COMM_WORLD, 1, &size, periods, 0, &ring);
  CALL(Neighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT, ring);
  CALL(Ineighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
  CALL(Wait, &request, MPI_STATUS_IGNORE);
  CALL(Comm_free, &ring);
  CALL(Comm_free, &late);
  CALL(Comm_free, &copy);
  CALL(Comm_free, &half);
}

static void one_sided(void) {
  int base[4] = {0}, value = 1, result = 0;
  MPI_Win window;
  CALL(Win_create, base, sizeof base, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  CALL(Win_fence, 0, window);
  CALL(Put, &value, 1, MPI_INT, next, 0, 1, MPI_INT, window);
  CALL(Accumulate, &value, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, window);
  CALL(Win_fence, 0, window);
  CALL(Win_lock, MPI_LOCK_SHARED, next, 0, window);
  CALL(Get, &result, 1, MPI_INT, next, 0, 1, MPI_INT, window);
  CALL(Win_unlock, next, window);
  CALL(Win_free, &window);
}

static void files(const char* path) {
  int data[4] = {0};
  MPI_File file;
  CALL(File_open, MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  CALL(File_write_at_all, file, rank * (MPI_Offset)sizeof data, data, 4, MPI_INT,
       MPI_STATUS_IGNORE);
  CALL(File_read_at, file, 0, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  CALL(File_close, &file);
}

static void* thread(void* argument) {
  const int tag = 100 + (int)(long)argument;
  int out = 0, in = 0;
  MPI_Request request;
  for (int i = 0; i < 60; ++i) {
    CALL(Irecv, &in, 1, MPI_INT, before, tag, MPI_COMM_WORLD, &request);
    CALL(Send, &out, 1, MPI_INT, next, tag, MPI_COMM_WORLD);
    CALL(Wait, &request, MPI_STATUS_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level = 0;
  if (argc < 2) return 1;
  CALL(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  before = (rank + size - 1) % size;
  point_to_point();
  persistent();
  collectives();
  one_sided();
  files(argv[1]);
  if (level == MPI_THREAD_MULTIPLE) {
    pthread_t threads[3];
    for (long i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, thread, (void*)i);
    for (long i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < MOST && counts[i].name; ++i) {
    printf("%d %s %d\n", rank, counts[i].name, counts[i].count);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
