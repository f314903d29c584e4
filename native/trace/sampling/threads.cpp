#include "sampling/threads.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampling/store.hpp"

namespace assay::trace {
namespace {

constinit Thread threads[kThreadsAtOnce];
std::atomic<std::uint32_t> numbers{0};
std::atomic<std::uint64_t> past_cost{0};
std::uint32_t first_part = 0;    // added to a thread's number, for its first period
const Thread* before = nullptr;  // the calling thread in the parent that forked this process
bool is_child = false;

thread_local Thread* mine __attribute__((tls_model("initial-exec"))) = nullptr;

// Linux's clock of the CPU time of a thread of this process (CPUCLOCK_SCHED, per thread).
clockid_t cpu_clock(pid_t thread) {
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | 6);
}

std::int64_t cpu_time(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return -1;
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void find_stack(Thread& thread) {
  pthread_attr_t attributes;
  void* address = nullptr;
  std::size_t size = 0;
  thread.low = thread.high = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
    thread.low = reinterpret_cast<std::uint64_t>(address);
    thread.high = thread.low + size;
  }
  pthread_attr_destroy(&attributes);
}

void name_of(pid_t thread, char* name, std::size_t size) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t count = file < 0 ? 0 : read(file, name, size - 1);
  if (file >= 0) close(file);
  name[count > 0 ? count : 0] = 0;
  if (char* end = strchr(name, '\n')) *end = 0;
}

void note(const Thread& thread, std::int64_t cpu) {
  char name[64], quoted[256], counted[256];
  name_of(thread.id, name, sizeof name);
  quote(name, quoted, sizeof quoted);
  write_counted(thread.counters, counted, sizeof counted);
  sample_store().note(
      "{\"type\":\"thread\",\"number\":%u,\"id\":%d,\"name\":\"%s\",\"cpu\":%lld,"
      "\"samples\":%llu,\"lost\":%llu%s}\n",
      thread.number, thread.id, quoted,
      static_cast<long long>(cpu < 0 ? -1 : cpu - thread.begin_cpu),
      static_cast<unsigned long long>(thread.samples.load()),
      static_cast<unsigned long long>(thread.lost.load()), counted);
}

class Blocked {  // signals, while a thread begins or ends
 public:
  Blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~Blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Blocked(const Blocked&) = delete;
  Blocked& operator=(const Blocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Thread* this_thread() noexcept { return mine; }

int enter(int number, std::uint64_t period) noexcept {
  const Blocked blocked;
  for (Thread& thread : threads) {
    if (thread.taken.exchange(true)) continue;
    thread.number = numbers++;
    thread.id = static_cast<pid_t>(syscall(SYS_gettid));
    thread.samples = thread.lost = thread.cost = 0;
    thread.begin_cpu = cpu_time(CLOCK_THREAD_CPUTIME_ID);
    // A forked thread keeps its stack, and to ask for it again needs memory.
    if (is_child && thread.number == 0) {
      thread.low = before ? before->low : 0;
      thread.high = before ? before->high : 0;
    } else {
      find_stack(thread);
    }
    mine = &thread;
    // The first periods of threads that begin together end at different times.
    const double golden = 0.6180339887498949 * (thread.number + 1 + first_part);
    const int problem = thread.clock.start(
        number, period, golden - static_cast<double>(static_cast<std::int64_t>(golden)));
    if (problem == 0) {
      thread.counters.start();
      return 0;
    }
    mine = nullptr;
    thread.taken = false;
    return problem;
  }
  return -1;
}

void leave() noexcept {
  Thread* thread = mine;
  if (!thread) return;
  const Blocked blocked;
  thread->clock.stop();
  mine = nullptr;
  if (thread->samples + thread->lost > 0) note(*thread, cpu_time(CLOCK_THREAD_CPUTIME_ID));
  thread->counters.stop();
  past_cost += thread->cost;
  thread->cost = 0;
  thread->taken = false;
}

int forget_threads(std::uint32_t seed) noexcept {
  int others = 0;
  before = mine;
  mine = nullptr;
  is_child = true;
  first_part = seed;
  numbers = 0;
  past_cost = 0;
  for (Thread& thread : threads) {
    if (!thread.taken) continue;
    if (&thread != before) ++others;
    thread.clock.forget();
    thread.counters.forget();
    thread.samples = thread.lost = thread.cost = 0;
    thread.taken = false;
  }
  return others;
}

void stop_all() noexcept {
  for (Thread& thread : threads) {
    if (thread.taken) thread.clock.stop();
  }
}

void note_all() noexcept {
  for (const Thread& thread : threads) {
    if (thread.taken && thread.samples + thread.lost > 0)
      note(thread, cpu_time(cpu_clock(thread.id)));
  }
}

std::uint64_t total_cost() noexcept {
  std::uint64_t cost = past_cost;
  for (const Thread& thread : threads) cost += thread.cost;
  return cost;
}

}  // namespace assay::trace
