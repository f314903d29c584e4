/* Two ranks, of which rank 1 has 1.3 times the work in one of two functions. Usage: ranks STEPS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long sum;

static inline __attribute__((always_inline)) void work(long n) {
  unsigned long x = 88172645463325252UL;
  for (long i = 0; i < n * 1000; ++i) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    __asm__ volatile("" : "+r"(x));
  }
  sum += x;
}

__attribute__((noinline)) static void solve(long n) { work(n); }
__attribute__((noinline)) static void assemble(long n) {
  work(n);
  ++sum; /* so that the compiler does not merge the two */
}

int main(int count, char** words) {
  int rank = 0;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int steps = count > 1 ? atoi(words[1]) : 1;
  for (int i = 0; i < steps; ++i) {
    solve(rank == 1 ? 52 : 40);
    assemble(30);
    if (i % 100 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  printf("%lu\n", sum);
  return 0;
}
