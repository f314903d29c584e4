// Functions of the C library that this library defines, too: it sees new threads, notices if the
// program wants the signal of the samples, writes samples before their code is unloaded, and the
// last ones before _exit.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "sampling/sampler.hpp"
#include "sampling/store.hpp"

namespace assay::trace {
namespace {

using Function = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Function, void*);
using SetAction = int (*)(int, const struct sigaction*, struct sigaction*);
using Close = int (*)(void*);
using Handler = void (*)(int);
using Set = Handler (*)(int, Handler);

template <class Type>
Type known(std::atomic<void*>& at, const char* name) {
  void* found = at.load(std::memory_order_relaxed);
  if (!found) at.store(found = behind(name), std::memory_order_relaxed);
  return reinterpret_cast<Type>(found);
}

// What a thread begins with, until it has begun.
struct Begin {
  std::atomic<bool> taken{false};
  Function function = nullptr;
  void* argument = nullptr;
};
// Looked up at the start: a child may need it whose parent's other thread was in the loader.
using Exit = void (*)(int);
std::atomic<Exit> next_exit{nullptr};
__attribute__((constructor)) void find_exit() {
  next_exit = reinterpret_cast<Exit>(behind("_exit"));
}

constexpr int kBegins = 256;
constinit Begin begins[kBegins];

void* run(void* data) {
  auto* begin = static_cast<Begin*>(data);
  const Function function = begin->function;
  void* const argument = begin->argument;
  begin->taken = false;
  begin_thread();
  return function(argument);
}

}  // namespace
}  // namespace assay::trace

extern "C" {

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                   void* argument) noexcept {
  using namespace assay::trace;
  static constinit std::atomic<void*> at{nullptr};
  const auto create = known<Create>(at, "pthread_create");
  if (!create) return EAGAIN;
  begin_sampling();  // a library may begin threads before this one is initialised
  if (is_sampled()) {
    for (Begin& begin : begins) {
      if (begin.taken.exchange(true)) continue;
      begin.function = function;
      begin.argument = argument;
      const int problem = create(thread, attributes, run, &begin);
      if (problem != 0) begin.taken = false;
      return problem;
    }
  }
  return create(thread, attributes, function, argument);
}

int sigaction(int number, const struct sigaction* action, struct sigaction* before) noexcept {
  using namespace assay::trace;
  static constinit std::atomic<void*> at{nullptr};
  const auto set = known<SetAction>(at, "sigaction");
  if (!set) {
    errno = ENOSYS;
    return -1;
  }
  if (action) program_handles(number);
  return set(number, action, before);
}

void (*signal(int number, void (*handler)(int)) noexcept)(int) {
  using namespace assay::trace;
  static constinit std::atomic<void*> at{nullptr};
  const auto set = known<Set>(at, "signal");
  if (!set) {
    errno = ENOSYS;
    return SIG_ERR;
  }
  program_handles(number);
  return set(number, handler);
}

int dlclose(void* library) noexcept {
  using namespace assay::trace;
  static constinit std::atomic<void*> at{nullptr};
  const auto close = known<Close>(at, "dlclose");
  if (!close) return -1;
  if (is_sampled()) sample_store().flush(true);
  const int result = close(library);
  if (is_sampled()) sample_store().code_changes();
  return result;
}

void _exit(int status) {
  assay::trace::end_process();
  if (const auto next = assay::trace::next_exit.load()) next(status);
  for (;;) syscall(SYS_exit_group, status);
}

void _Exit(int status) noexcept { _exit(status); }

}  // extern "C"
