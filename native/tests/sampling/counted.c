/* A program whose functions cause known numbers of page faults. It prints the number of those of
 * `faults` by getrusage. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double used(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long faulted(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/* Touches pages, each for the first time, and computes a little after each. */
__attribute__((noinline)) static void faults(double seconds) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 2048 * page;
  for (const double end = used() + seconds; used() < end;) {
    char* memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < size; at += page) {
      *(volatile char*)(memory + at) = 1;
      for (int i = 0; i < 2000; ++i) __asm__ volatile("" : "+r"(i));
    }
    munmap(memory, size);
  }
}

__attribute__((noinline)) static void computes(double seconds) {
  for (const double end = used() + seconds; used() < end;) {
    for (int i = 0; i < 100000; ++i) __asm__ volatile("" : "+r"(i));
  }
}

int main(int count, char** words) {
  const double seconds = count > 1 ? strtod(words[1], NULL) : 1.0;
  long sum = 0;
  for (int i = 0; i < 4; ++i) {
    const long before = faulted();
    faults(seconds / 8);
    sum += faulted() - before;
    computes(seconds / 8);
  }
  printf("%ld\n", sum);
  return 0;
}
