/* Waits of every kind, planted: the last rank comes late to each, by sleeping, and the others wait
 * for it. Arguments: a file to write, a time in ms, and the kinds (none: all). Prints
 * "KIND SECONDS" of the time that the other ranks spent in the calls that wait, by their own
 * clocks, at most that time for each. The kind is the name of the C function. For
 * tests/native/trace/test_planted_waits.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, last, delay;
static double inside;
static const char* path;
static int data[4], more[64];

#define KIND __attribute__((noinline)) static void
#define TIMED(call)                               \
  do {                                            \
    const double from = MPI_Wtime();              \
    call;                                         \
    if (rank != last) waited(MPI_Wtime() - from); \
  } while (0)
#define NOTHING MPI_STATUS_IGNORE
#define WORLD MPI_COMM_WORLD

/* What a call takes beyond the planted wait isn't waiting for the last rank, but for a CPU. */
static void waited(double seconds) {
  const double most = 1e-3 * delay;
  inside += seconds < most ? seconds : most;
}

static void late(void) {
  if (rank == last) usleep(1000 * (unsigned)delay);
}

/* ---- Messages: the last rank sends to rank 0, or receives from it ---- */
static void hand_over(int tag) {
  if (rank != last) return;
  late();
  MPI_Send(data, 4, MPI_INT, 0, tag, WORLD);
}

KIND recv_plain(void) {
  hand_over(1);
  if (rank == 0) TIMED(MPI_Recv(data, 4, MPI_INT, last, 1, WORLD, NOTHING));
}

KIND recv_any(void) {
  hand_over(1);
  if (rank == 0) TIMED(MPI_Recv(data, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, NOTHING));
}

KIND probe(void) {
  hand_over(2);
  if (rank != 0) return;
  TIMED(MPI_Probe(last, 2, WORLD, NOTHING));
  MPI_Recv(data, 4, MPI_INT, last, 2, WORLD, NOTHING);
}

KIND probe_any(void) {
  MPI_Status status;
  hand_over(2);
  if (rank != 0) return;
  TIMED(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status));
  MPI_Recv(data, 4, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, WORLD, NOTHING);
}

KIND mprobe(void) {
  MPI_Message message;
  hand_over(3);
  if (rank != 0) return;
  TIMED(MPI_Mprobe(MPI_ANY_SOURCE, 3, WORLD, &message, NOTHING));
  MPI_Mrecv(data, 4, MPI_INT, &message, NOTHING);
}

KIND iprobe(void) {
  int found = 0;
  hand_over(4);
  if (rank != 0) return;
  TIMED(while (!found) MPI_Iprobe(last, 4, WORLD, &found, NOTHING));
  MPI_Recv(data, 4, MPI_INT, last, 4, WORLD, NOTHING);
}

KIND improbe(void) {
  int found = 0;
  MPI_Message message;
  hand_over(5);
  if (rank != 0) return;
  TIMED(while (!found) MPI_Improbe(MPI_ANY_SOURCE, 5, WORLD, &found, &message, NOTHING));
  MPI_Mrecv(data, 4, MPI_INT, &message, NOTHING);
}

KIND test_loop(void) {
  int done = 0;
  MPI_Request request;
  hand_over(6);
  if (rank != 0) return;
  MPI_Irecv(data, 4, MPI_INT, last, 6, WORLD, &request);
  TIMED(while (!done) MPI_Test(&request, &done, NOTHING));
}

KIND two_tests(void) {
  int done[2] = {0, 0};
  MPI_Request requests[2];
  hand_over(7);
  if (rank == last) MPI_Send(data, 4, MPI_INT, 0, 8, WORLD);
  if (rank != 0) return;
  for (int i = 0; i < 2; ++i) MPI_Irecv(more + i * 4, 4, MPI_INT, last, 7 + i, WORLD, requests + i);
  TIMED(while (!done[0] || !done[1]) {
    if (!done[0]) MPI_Test(&requests[0], &done[0], NOTHING);
    if (!done[1]) MPI_Test(&requests[1], &done[1], NOTHING);
  });
}

KIND status_loop(void) {
  int done = 0;
  MPI_Request request;
  hand_over(6);
  if (rank != 0) return;
  MPI_Irecv(data, 4, MPI_INT, last, 6, WORLD, &request);
  TIMED(while (!done) MPI_Request_get_status(request, &done, NOTHING); MPI_Wait(&request, NOTHING));
}

KIND waitany(void) {
  int index = 0;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  hand_over(9);
  if (rank != 0) return;
  MPI_Irecv(data, 4, MPI_INT, last, 9, WORLD, &requests[1]);
  TIMED(MPI_Waitany(2, requests, &index, NOTHING));
}

KIND persistent_recv(void) {
  MPI_Request request;
  hand_over(10);
  if (rank != 0) return;
  MPI_Recv_init(data, 4, MPI_INT, last, 10, WORLD, &request);
  MPI_Start(&request);
  TIMED(MPI_Wait(&request, NOTHING));
  MPI_Request_free(&request);
}

KIND cancelled_before(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(more, 4, MPI_INT, last, 11, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, NOTHING);
  }
  MPI_Barrier(WORLD);
  hand_over(11);
  if (rank == 0) TIMED(MPI_Recv(data, 4, MPI_INT, last, 11, WORLD, NOTHING));
}

KIND ssend(void) {
  if (rank == 0) TIMED(MPI_Ssend(data, 4, MPI_INT, last, 12, WORLD));
  if (rank != last) return;
  late();
  MPI_Recv(data, 4, MPI_INT, 0, 12, WORLD, NOTHING);
}

KIND sendrecv(void) {
  if (rank != 0 && rank != last) return;
  late();
  TIMED(MPI_Sendrecv(data, 1, MPI_INT, last - rank, 13, more, 1, MPI_INT, last - rank, 13, WORLD,
                     NOTHING));
}

/* ---- Collectives ---- */
KIND barrier(void) {
  late();
  TIMED(MPI_Barrier(WORLD));
}

KIND allreduce(void) {
  late();
  TIMED(MPI_Allreduce(data, more, 1, MPI_INT, MPI_SUM, WORLD));
}

KIND iallreduce_tests(void) {
  int done = 0;
  MPI_Request request;
  late();
  MPI_Iallreduce(data, more, 1, MPI_INT, MPI_SUM, WORLD, &request);
  TIMED(while (!done) MPI_Test(&request, &done, NOTHING));
}

KIND neighbours(void) {
  MPI_Comm ring;
  const int periods[1] = {1};
  MPI_Cart_create(WORLD, 1, &size, periods, 0, &ring);
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Neighbor_alltoall(data, 1, MPI_INT, more, 1, MPI_INT, ring));
  MPI_Barrier(WORLD);
  MPI_Comm_free(&ring);
}

KIND neighbours_later(void) {
  MPI_Comm ring;
  MPI_Request request;
  const int periods[1] = {1};
  MPI_Cart_create(WORLD, 1, &size, periods, 0, &ring);
  MPI_Barrier(WORLD);
  late();
  MPI_Ineighbor_allgather(data, 1, MPI_INT, more, 1, MPI_INT, ring, &request);
  TIMED(MPI_Wait(&request, NOTHING));
  MPI_Barrier(WORLD);
  MPI_Comm_free(&ring);
}

#if MPI_VERSION >= 4
KIND persistent_collective(void) {
  MPI_Request requests[2];
  MPI_Allreduce_init(data, more, 1, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(more + 8, 1, MPI_INT, last, WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Barrier(WORLD);
  for (int i = 0; i < 2; ++i) {
    late();
    MPI_Start(&requests[i]);
    TIMED(MPI_Wait(&requests[i], NOTHING));
    MPI_Barrier(WORLD);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

KIND partitioned(void) {
  MPI_Request request;
  if (rank == last) {
    MPI_Psend_init(data, 2, 2, MPI_INT, 0, 14, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(0, request);
    late();
    MPI_Pready(1, request);
  } else if (rank == 0) {
    MPI_Precv_init(more, 2, 2, MPI_INT, last, 14, WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  } else {
    return;
  }
  TIMED(MPI_Wait(&request, NOTHING));
  MPI_Request_free(&request);
}
#endif

/* ---- Communicators ---- */
KIND comm_dup(void) {
  MPI_Comm copy;
  late();
  TIMED(MPI_Comm_dup(WORLD, &copy));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Comm_free(&copy));
}

KIND comm_idup(void) {
  MPI_Comm copy;
  MPI_Request request;
  late();
  MPI_Comm_idup(WORLD, &copy, &request);
  TIMED(MPI_Wait(&request, NOTHING));
  MPI_Comm_free(&copy);
}

KIND comm_split(void) {
  MPI_Comm part;
  late();
  TIMED(MPI_Comm_split(WORLD, 0, rank, &part));
  MPI_Comm_free(&part);
}

KIND comm_create(void) {
  MPI_Group group;
  MPI_Comm one, other;
  MPI_Comm_group(WORLD, &group);
  late();
  TIMED(MPI_Comm_create(WORLD, group, &one));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Comm_create_group(WORLD, group, 5, &other));
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
  MPI_Group_free(&group);
}

KIND intercomm(void) {
  MPI_Comm half, both, merged;
  const int side = rank == last;
  MPI_Comm_split(WORLD, side, rank, &half);
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Intercomm_create(half, 0, WORLD, side ? 0 : last, 15, &both));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Barrier(both));
  MPI_Barrier(WORLD);
  if (rank == last) {
    late();
    MPI_Send(data, 4, MPI_INT, 0, 16, both);
  } else if (rank == 0) {
    TIMED(MPI_Recv(more, 4, MPI_INT, 0, 16, both, NOTHING));
  }
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Intercomm_merge(both, side, &merged));
  MPI_Barrier(WORLD);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

/* ---- Windows ---- */
static MPI_Win window;

KIND fence(void) {
  late();
  TIMED(MPI_Win_create(data, sizeof data, sizeof(int), MPI_INFO_NULL, WORLD, &window));
  MPI_Win_fence(0, window);
  late();
  TIMED(MPI_Win_fence(0, window));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_Win_free(&window));
}

/* The last rank posts, and later completes, late. */
KIND active_target(void) {
  MPI_Group world, others;
  const int ranks[2] = {0, last};
  MPI_Win_create(more, sizeof more, sizeof(int), MPI_INFO_NULL, WORLD, &window);
  MPI_Comm_group(WORLD, &world);
  MPI_Barrier(WORLD);
  if (rank == 0 || rank == last) {
    MPI_Group_incl(world, 1, ranks + (rank == 0), &others);
    if (rank == last) {
      late();
      MPI_Win_post(others, 0, window);
      MPI_Win_wait(window);
      MPI_Win_start(others, 0, window);
      MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
      late();
      MPI_Win_complete(window);
    } else {
      TIMED(MPI_Win_start(others, 0, window);
            MPI_Put(data, 1, MPI_INT, last, 0, 1, MPI_INT, window); MPI_Win_complete(window));
      MPI_Win_post(others, 0, window);
      TIMED(MPI_Win_wait(window));
    }
    MPI_Group_free(&others);
  }
  MPI_Group_free(&world);
  MPI_Win_free(&window);
}

/* The last rank keeps the lock of rank 1's memory. */
KIND locked(void) {
  int value = 0;
  MPI_Win_create(more, sizeof more, sizeof(int), MPI_INFO_NULL, WORLD, &window);
  MPI_Barrier(WORLD);
  if (rank == last) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_flush(1, window);
  }
  MPI_Barrier(WORLD);
  late();
  if (rank == last) MPI_Win_unlock(1, window);
  if (rank == 0) {
    TIMED(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
          MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window); MPI_Win_unlock(1, window));
  }
  MPI_Barrier(WORLD);
  MPI_Win_free(&window);
}

/* ---- Files ---- */
KIND files(void) {
  MPI_File file;
  const MPI_Offset mine = (MPI_Offset)(sizeof data) * rank;
  late();
  TIMED(MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_write_at_all(file, mine, data, 4, MPI_INT, NOTHING));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_read_at_all(file, mine, data, 4, MPI_INT, NOTHING));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_sync(file));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_close(&file));
}

KIND files_split(void) {
  MPI_File file;
  MPI_Request request;
  const MPI_Offset mine = (MPI_Offset)(sizeof data) * rank;
  MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_write_at_all_begin(file, mine, data, 4, MPI_INT);
        MPI_File_write_at_all_end(file, data, NOTHING));
  MPI_Barrier(WORLD);
  late();
  MPI_File_iwrite_at_all(file, mine, data, 4, MPI_INT, &request);
  TIMED(MPI_Wait(&request, NOTHING));
  MPI_Barrier(WORLD);
  late();
  TIMED(MPI_File_write_ordered(file, data, 4, MPI_INT, NOTHING));
  MPI_Barrier(WORLD);
  MPI_File_close(&file);
}

KIND nothing(void) {}

static const struct {
  const char* name;
  void (*run)(void);
} kinds[] = {
#define ONE(name) {#name, name}
    ONE(recv_plain),
    ONE(recv_any),
    ONE(probe),
    ONE(probe_any),
    ONE(mprobe),
    ONE(iprobe),
    ONE(improbe),
    ONE(test_loop),
    ONE(two_tests),
    ONE(status_loop),
    ONE(waitany),
    ONE(persistent_recv),
    ONE(cancelled_before),
    ONE(ssend),
    ONE(sendrecv),
    ONE(barrier),
    ONE(allreduce),
    ONE(iallreduce_tests),
    ONE(neighbours),
    ONE(neighbours_later),
    ONE(comm_dup),
    ONE(comm_idup),
    ONE(comm_split),
    ONE(comm_create),
    ONE(intercomm),
    ONE(fence),
    ONE(active_target),
    ONE(locked),
    ONE(files),
    ONE(files_split),
#if MPI_VERSION >= 4
    ONE(persistent_collective),
    ONE(partitioned),
#endif
    ONE(nothing),
};

static int wanted(const char* name, int argc, char** argv) {
  for (int i = 3; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return argc <= 3;
}

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  last = size - 1;
  path = argv[1];
  delay = atoi(argv[2]);
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    if (!wanted(kinds[i].name, argc, argv)) continue;
    double whole = 0.0;
    inside = 0.0;
    MPI_Barrier(WORLD);
    kinds[i].run();
    MPI_Reduce(&inside, &whole, 1, MPI_DOUBLE, MPI_SUM, 0, WORLD);
    if (rank == 0) printf("%s %.6f\n", kinds[i].name, whole);
  }
  fflush(stdout);
  late(); /* to MPI_Finalize */
  MPI_Finalize();
  return 0;
}
