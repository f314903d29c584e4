// Put before the C library (LD_PRELOAD), it makes a rank sleep that would yield its CPU: a rank
// that waits then takes no CPU time, and what it takes is for work. MPICH's waits poll and yield,
// for ever.
#define _GNU_SOURCE
#include <sys/prctl.h>
#include <time.h>

int sched_yield(void) {
  static __thread int told;
  const struct timespec nap = {0, 200000};
  if (!told) {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // the kernel's own, 50 us, would be longer than the nap
    told = 1;
  }
  nanosleep(&nap, 0);
  return 0;
}
