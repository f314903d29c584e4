// Threads that throw exceptions, allocate, and load libraries, each for some CPU time. Usage:
// stress SECONDS
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

double limit = 0.1;
volatile std::size_t kept = 0;

bool is_over() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec) > limit / 3;
}

__attribute__((noinline)) void thrower(int depth) {
  if (depth == 0) throw std::runtime_error("deep");
  thrower(depth - 1);
  kept = kept + 1;
}

}  // namespace

extern "C" {

__attribute__((noinline)) void throwing() {
  while (!is_over()) {
    try {
      thrower(20);
    } catch (const std::runtime_error&) {
      kept = kept + 1;
    }
  }
}

__attribute__((noinline)) void allocating() {
  while (!is_over()) {
    std::vector<std::vector<int>> many;
    for (std::size_t i = 1; i < 100; ++i) many.emplace_back(i * 37);
    kept = kept + many.size();
  }
}

__attribute__((noinline)) void loading() {
  while (!is_over()) {
    if (void* library = dlopen("libutil.so.1", RTLD_NOW)) dlclose(library);
    if (void* library = dlopen("libm.so.6", RTLD_NOW)) dlclose(library);
  }
}
}

int main(int count, char** words) {
  if (count > 1) limit = std::atof(words[1]);
  std::thread first(throwing), second(allocating), third(loading);
  first.join();
  second.join();
  third.join();
  std::puts("whole");
}
