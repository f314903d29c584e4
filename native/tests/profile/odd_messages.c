/* Requests and messages that have no partner, or another one than it seems, each followed by a wait
 * of rank 0 for rank 1 with the same tag: the last rank sends late. Arguments: a time in ms and the
 * kinds (none: all). Prints "KIND SECONDS" of the waits of rank 0 by its own clock. For
 * tests/native/trace/test_odd_messages.py. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define NOTHING MPI_STATUS_IGNORE
#define KIND __attribute__((noinline)) static void

static int rank, delay, data[8], more[8];
static double inside;

/* What shows whether messages got their partners: rank 1 sends three times, each time late. */
static void late_messages(int tag) {
  for (int i = 0; i < 3; ++i) {
    if (rank == 1) {
      usleep(1000 * (unsigned)delay);
      MPI_Send(data, 4, MPI_INT, 0, tag, WORLD);
    } else if (rank == 0) {
      const double from = MPI_Wtime();
      MPI_Recv(more, 4, MPI_INT, 1, tag, WORLD, NOTHING);
      inside += MPI_Wtime() - from;
    }
  }
}

KIND cancelled_receive(void) {
  MPI_Request request;
  MPI_Status status;
  if (rank == 0) {
    MPI_Irecv(data, 4, MPI_INT, 1, 0, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
  }
  late_messages(0);
}

KIND cancelled_any(void) {
  MPI_Request requests[2];
  if (rank == 0) {
    for (int i = 0; i < 2; ++i) {
      MPI_Irecv(data, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &requests[i]);
      MPI_Cancel(&requests[i]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  late_messages(1);
}

KIND cancelled_and_freed(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(data, 4, MPI_INT, 1, 2, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  MPI_Barrier(WORLD);
  late_messages(2);
}

KIND cancelled_too_late(void) {
  MPI_Request request;
  if (rank == 1) MPI_Send(data, 4, MPI_INT, 0, 3, WORLD);
  if (rank == 0) {
    MPI_Probe(1, 3, WORLD, NOTHING);
    MPI_Irecv(data, 4, MPI_INT, 1, 3, WORLD, &request);
    usleep(1000);
    MPI_Cancel(&request);
    MPI_Wait(&request, NOTHING);
  }
  late_messages(3);
}

KIND cancelled_persistent(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Recv_init(data, 4, MPI_INT, 1, 4, WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, NOTHING);
    MPI_Request_free(&request);
    MPI_Recv_init(data, 4, MPI_INT, 1, 4, WORLD, &request); /* never started */
    MPI_Request_free(&request);
  }
  late_messages(4);
}

KIND cancelled_send(void) {
  MPI_Request request;
  MPI_Status status;
  int cancelled = 0;
  if (rank == 1) {
    MPI_Isend(data, 4, MPI_INT, 0, 5, WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
  }
  /* A send that was not cancelled is received. */
  MPI_Bcast(&cancelled, 1, MPI_INT, 1, WORLD);
  if (!cancelled && rank == 0) MPI_Recv(more, 4, MPI_INT, 1, 5, WORLD, NOTHING);
  late_messages(5);
}

/* The receive gets its message though nothing completes it. */
KIND freed_receive(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(data, 4, MPI_INT, 1, 6, WORLD, &request);
    MPI_Request_free(&request);
  }
  MPI_Barrier(WORLD);
  if (rank == 1) MPI_Send(data, 4, MPI_INT, 0, 6, WORLD);
  late_messages(6);
}

KIND freed_send(void) {
  MPI_Request request;
  if (rank == 1) {
    MPI_Isend(data, 4, MPI_INT, 0, 7, WORLD, &request);
    MPI_Request_free(&request);
  } else if (rank == 0) {
    MPI_Recv(more, 4, MPI_INT, 1, 7, WORLD, NOTHING);
  }
  late_messages(7);
}

KIND no_process(void) {
  MPI_Request request;
  MPI_Message message;
  MPI_Recv(data, 4, MPI_INT, MPI_PROC_NULL, 8, WORLD, NOTHING);
  MPI_Probe(MPI_PROC_NULL, 8, WORLD, NOTHING);
  MPI_Mprobe(MPI_PROC_NULL, 8, WORLD, &message, NOTHING);
  MPI_Mrecv(data, 4, MPI_INT, &message, NOTHING);
  MPI_Irecv(data, 4, MPI_INT, MPI_PROC_NULL, 8, WORLD, &request);
  MPI_Wait(&request, NOTHING);
  late_messages(8);
}

/* A probed message is received behind later ones. */
KIND probed_first(void) {
  MPI_Message message;
  if (rank == 1) {
    for (int i = 1; i <= 3; ++i) MPI_Send(data, i, MPI_INT, 0, 9, WORLD);
  } else if (rank == 0) {
    MPI_Mprobe(1, 9, WORLD, &message, NOTHING);
    MPI_Recv(more, 8, MPI_INT, 1, 9, WORLD, NOTHING);
    MPI_Recv(more, 8, MPI_INT, 1, 9, WORLD, NOTHING);
    MPI_Mrecv(data, 8, MPI_INT, &message, NOTHING);
  }
  late_messages(9);
}

KIND truncated(void) {
  MPI_Request request;
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
  if (rank == 1) {
    MPI_Send(data, 4, MPI_INT, 0, 10, WORLD);
    MPI_Send(data, 4, MPI_INT, 0, 10, WORLD);
    MPI_Send(data, 4, MPI_INT, 0, 10, WORLD);
  } else if (rank == 0) {
    MPI_Recv(more, 1, MPI_INT, 1, 10, WORLD, NOTHING);
    MPI_Recv(more, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, NOTHING);
    MPI_Irecv(more, 1, MPI_INT, 1, 10, WORLD, &request);
    MPI_Wait(&request, NOTHING);
  }
  MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
  late_messages(10);
}

static void* receiving(void* tag) {
  int mine[4];
  for (int i = 0; i < 200; ++i) MPI_Recv(mine, 4, MPI_INT, 1, *(int*)tag, WORLD, NOTHING);
  return NULL;
}

/* Two threads receive with one tag: which gets which message, their calls don't tell. */
KIND threads(void) {
  static int tag = 11;
  pthread_t both[2];
  if (rank == 1) {
    for (int i = 0; i < 400; ++i) MPI_Send(data, 4, MPI_INT, 0, tag, WORLD);
  } else if (rank == 0) {
    for (int i = 0; i < 2; ++i) pthread_create(&both[i], NULL, receiving, &tag);
    for (int i = 0; i < 2; ++i) pthread_join(both[i], NULL);
  }
  late_messages(12);
}

#if MPI_VERSION >= 4
/* Partitioned messages match none that have the same tag and aren't partitioned. */
KIND partitioned(void) {
  MPI_Request request;
  if (rank == 1) {
    MPI_Psend_init(data, 2, 1, MPI_INT, 0, 13, WORLD, MPI_INFO_NULL, &request);
  } else if (rank == 0) {
    MPI_Precv_init(data, 2, 1, MPI_INT, 1, 13, WORLD, MPI_INFO_NULL, &request);
  }
  if (rank < 2) MPI_Start(&request);
  late_messages(13);
  if (rank == 1) MPI_Pready_range(0, 1, request);
  if (rank < 2) {
    MPI_Wait(&request, NOTHING);
    MPI_Request_free(&request);
  }
}
#endif

/* Rank 1 sends a message that isn't recorded: which one rank 0 gets first, no record tells. Only
 * when it is asked for. */
KIND unseen_send(void) {
  if (rank == 1) {
    MPI_Pcontrol(0);
    MPI_Send(data, 4, MPI_INT, 0, 16, WORLD);
    MPI_Pcontrol(1);
  } else if (rank == 0) {
    MPI_Recv(more, 4, MPI_INT, 1, 16, WORLD, NOTHING);
  }
  late_messages(16);
  late_messages(17);
}

/* Pending at the end. */
KIND pending(void) {
  static MPI_Request requests[2];
  late_messages(14);
  if (rank == 0) {
    MPI_Irecv(data, 1, MPI_INT, 1, 14, WORLD, &requests[0]);
    MPI_Irecv(data + 1, 1, MPI_INT, MPI_ANY_SOURCE, 15, WORLD, &requests[1]);
  }
}

static const struct {
  const char* name;
  void (*run)(void);
} kinds[] = {
#define ONE(name) {#name, name}
    ONE(cancelled_receive),
    ONE(cancelled_any),
    ONE(cancelled_and_freed),
    ONE(cancelled_too_late),
    ONE(cancelled_persistent),
    ONE(cancelled_send),
    ONE(freed_receive),
    ONE(freed_send),
    ONE(no_process),
    ONE(probed_first),
    ONE(truncated),
    ONE(threads),
#if MPI_VERSION >= 4
    ONE(partitioned),
#endif
    ONE(pending),
    ONE(unseen_send),
};

static int wanted(int kind, int argc, char** argv) {
  for (int i = 2; i < argc; ++i) {
    if (strcmp(argv[i], kinds[kind].name) == 0) return 1;
  }
  return argc <= 2 && kinds[kind].run != unseen_send;
}

int main(int argc, char** argv) {
  int level = 0;
  if (argc < 2) return 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(WORLD, &rank);
  delay = atoi(argv[1]);
  for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); ++i) {
    if (!wanted(i, argc, argv)) continue;
    if (level < MPI_THREAD_MULTIPLE && kinds[i].run == threads) continue;
    inside = 0.0;
    MPI_Barrier(WORLD);
    kinds[i].run();
    MPI_Barrier(WORLD);
    if (rank == 0) printf("%s %.6f\n", kinds[i].name, inside);
    if (rank == 0) fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}
