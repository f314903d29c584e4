/* Two ranks with two threads each, which exchange messages at the same time (MPI_THREAD_MULTIPLE).
 * Usage: multiple STEPS */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, steps;
static long sums[2];

static void* exchange(void* argument) {
  const int tag = *(const int*)argument;
  for (int i = 0; i < steps; ++i) {
    int mine = i + rank, theirs = 0;
    MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, tag, &theirs, 1, MPI_INT, 1 - rank, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char* volatile room = malloc(4096);
    free(room);
    sums[tag] += theirs;
  }
  return NULL;
}

int main(int count, char** words) {
  int level = 0, tags[] = {0, 1};
  steps = count > 1 ? atoi(words[1]) : 1;
  MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_t other;
  pthread_create(&other, NULL, exchange, &tags[1]);
  exchange(&tags[0]);
  pthread_join(other, NULL);
  if (rank == 0) printf("%d %ld %ld\n", level == MPI_THREAD_MULTIPLE, sums[0], sums[1]);
  MPI_Finalize();
  return 0;
}
