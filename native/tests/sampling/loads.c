/* Computes in its own code, then in a library that it loads, then in another one in its place.
 * Usage: loads LIBRARY OTHER */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

static double cpu_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

__attribute__((noinline)) static void own(double until) {
  while (cpu_time() < until) {
    for (volatile int i = 0; i < 100000; ++i) {
    }
  }
}

int main(int count, char** words) {
  own(0.4);
  for (int i = 1; i < count; ++i) {
    void* const library = dlopen(words[i], RTLD_NOW);
    void (*work)(void) = library ? (void (*)(void))dlsym(library, "work") : 0;
    if (!work) return fprintf(stderr, "%s\n", dlerror());
    for (const double until = cpu_time() + 0.4; cpu_time() < until;) work();
    dlclose(library);
  }
  return 0;
}
