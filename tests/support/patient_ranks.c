// Replaces sched_yield() in the ranks of tests: see patient_ranks.py.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int is_rank(void) {
  static int known = -1;
  if (known < 0) known = getenv("PMI_RANK") || getenv("OMPI_COMM_WORLD_RANK");
  return known;
}

int sched_yield(void) {
  static const struct timespec a_moment = {0, 20000};
  return is_rank() ? nanosleep(&a_moment, NULL) : (int)syscall(SYS_sched_yield);
}
