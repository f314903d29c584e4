// The call stack that the sampler sees where a signal interrupts nested functions, one of which was
// interrupted by another signal before. Prints the functions, innermost first.
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

#include "sampling/walk.hpp"

namespace {

assay::trace::Stack stack;
std::uint64_t low, high;

void take(int, siginfo_t*, void* context) { assay::trace::walk(context, low, high, stack); }

}  // namespace

extern "C" {

[[gnu::noinline]] int innermost(int number) {
  raise(number);
  return number + 1;
}
[[gnu::noinline]] int middle(int number) { return innermost(number) + 1; }
[[gnu::noinline]] int outer(int number) { return middle(number) + 1; }
void handles(int number) {
  volatile int result = outer(number + 1);
  (void)result;
}
[[gnu::noinline]] int begins(int number) {
  raise(number);
  return number + 1;
}
}

int main() {
  pthread_attr_t attributes;
  void* address = nullptr;
  size_t size = 0;
  pthread_getattr_np(pthread_self(), &attributes);
  pthread_attr_getstack(&attributes, &address, &size);
  low = reinterpret_cast<std::uint64_t>(address);
  high = low + size;
  struct sigaction action{};
  action.sa_handler = handles;
  sigaction(SIGRTMIN, &action, nullptr);
  action.sa_sigaction = take;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGRTMIN + 1, &action, nullptr);
  begins(SIGRTMIN);
  static const struct {
    const char* name;
    std::uint64_t begin;
  } functions[] = {{"innermost", reinterpret_cast<std::uint64_t>(innermost)},
                   {"middle", reinterpret_cast<std::uint64_t>(middle)},
                   {"outer", reinterpret_cast<std::uint64_t>(outer)},
                   {"handles", reinterpret_cast<std::uint64_t>(handles)},
                   {"begins", reinterpret_cast<std::uint64_t>(begins)},
                   {"main", reinterpret_cast<std::uint64_t>(main)}};
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    const char* name = "";
    std::uint64_t begin = 0;
    for (const auto& one : functions) {
      if (one.begin > stack.frames[i] || one.begin < begin) continue;
      begin = one.begin;
      name = one.name;
    }
    printf("%s\n", stack.frames[i] - begin < 4096 ? name : "elsewhere");
  }
  return 0;
}
