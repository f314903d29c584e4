/* Functions with known shares of the work: 50, 30, 15 and 5%, of which the last one recurses. The
 * arithmetic is inlined into all of them. Usage: shares STEPS */
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

__attribute__((noinline)) static void half(void) { work(50); }
__attribute__((noinline)) static void third(void) { work(30); }
__attribute__((noinline)) static void seventh(void) { work(15); }
__attribute__((noinline)) static void recursive(int depth) {
  if (depth > 0) recursive(depth - 1);
  work(1); /* after the call, which stays a call */
}

int main(int count, char** words) {
  const int steps = count > 1 ? atoi(words[1]) : 1;
  for (int i = 0; i < steps; ++i) {
    half();
    third();
    seventh();
    recursive(4);
  }
  printf("%lu\n", sum);
  return 0;
}
