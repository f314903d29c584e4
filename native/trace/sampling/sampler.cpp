#include "sampling/sampler.hpp"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "sampling/attached.hpp"
#include "sampling/counters.hpp"
#include "sampling/family.hpp"
#include "sampling/python.hpp"
#include "sampling/store.hpp"
#include "sampling/threads.hpp"

namespace assay::trace {
namespace {

constexpr int kSignalsToTry = 12;

struct Sampler {
  std::atomic<bool> asked{false};    // whether the environment was read
  std::atomic<bool> running{false};  // whether samples are taken
  std::atomic<bool> waits{false};    // for a rank that switches counting on
  std::atomic<bool> is_attached{false};
  SampledRank rank;
  int process = 0;
  int ancestor = 0;  // the process that forked this one, or its ancestors; 0: it wasn't forked
  int number = 0;    // of the signal
  bool is_lockless = false;  // its walks
  std::uint64_t period = 0;
  std::atomic<std::uint64_t> unsampled{0};  // threads
  std::atomic<int> problem{0};              // why the first of them is not sampled
  pthread_key_t key{};
};
constinit Sampler the_sampler;

std::uint64_t time_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void take_sample(int, siginfo_t* info, void* context) {
  Sampler& sampler = the_sampler;
  Thread* thread = this_thread();
  const bool ours =
      info->si_code == SI_TIMER || info->si_code == POLL_IN || info->si_code == POLL_HUP;
  if (!ours || !thread || !sampler.running.load(std::memory_order_relaxed)) return;
  const int problem = errno;
  const bool attached = sampler.is_attached.load(std::memory_order_acquire);
  const bool recorded = attached ? !sampler.rank.recorded || sampler.rank.recorded()
                                 : !sampler.waits.load(std::memory_order_relaxed);
  if (recorded) {
    const std::uint64_t begin = time_of(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t time = time_of(CLOCK_MONOTONIC);
    const Counted counted = thread->counters.since_mark();
    const bool inside = attached && sampler.rank.inside && sampler.rank.inside();
    walk(context, thread->low, thread->high, thread->stack);
    if (info->si_code == SI_TIMER && info->si_overrun > 0) {
      thread->lost += static_cast<std::uint64_t>(info->si_overrun);
    }
    if (add_python(thread->stack, thread->python) &&
        sample_store().add(time, thread->number, inside ? kInMpi : kComputing, thread->stack,
                           counted)) {
      ++thread->samples;
      thread->counters.mark();
    } else {
      ++thread->lost;
    }
    thread->cost += time_of(CLOCK_THREAD_CPUTIME_ID) - begin;
  }
  errno = problem;
}

// The highest real-time signal without a handler: programs and tools use these less than SIGPROF.
int free_signal() {
  using Set = int (*)(int, const struct sigaction*, struct sigaction*);
  const auto set = reinterpret_cast<Set>(behind("sigaction"));
  for (int number = SIGRTMAX - 1; set && number > SIGRTMAX - kSignalsToTry; --number) {
    struct sigaction before{};
    if (set(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_sigaction = take_sample;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigfillset(&action.sa_mask);
    if (set(number, &action, nullptr) == 0) return number;
  }
  return 0;
}

void describe() {
  const Sampler& sampler = the_sampler;
  char host[256] = {}, name[512] = {}, command[1024], quoted_host[512];
  gethostname(host, sizeof host - 1);
  if (const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); file >= 0) {
    const ssize_t count = read(file, name, sizeof name - 1);
    for (ssize_t i = 0; i + 1 < count; ++i) name[i] = name[i] ? name[i] : ' ';
    close(file);
  }
  quote(name, command, sizeof command);
  quote(host, quoted_host, sizeof quoted_host);
  sample_store().note(
      "{\"type\":\"samples\",\"version\":1,\"process\":%d,\"parent\":%d,\"forked\":%d,\"host\":\"%"
      "s\","
      "\"period\":%llu,\"signal\":%d,\"begin\":%llu,\"begin_wall\":%llu,\"command\":\"%s\"}\n",
      sampler.process, getppid(), sampler.ancestor, quoted_host,
      static_cast<unsigned long long>(sampler.period), sampler.number,
      static_cast<unsigned long long>(time_of(CLOCK_MONOTONIC)),
      static_cast<unsigned long long>(time_of(CLOCK_REALTIME)), command);
}

void end_sampling(const char* ended) {
  Sampler& sampler = the_sampler;
  if (!is_sampled() || !sampler.running.exchange(false)) return;
  note_all();
  note_python();
  note_family();
  if (const auto unsampled = sampler.unsampled.load()) {
    const int problem = sampler.problem;
    sample_store().note("{\"type\":\"unsampled\",\"threads\":%llu,\"problem\":\"%s\"}\n",
                        static_cast<unsigned long long>(unsampled),
                        problem > 0   ? strerror(problem)
                        : problem < 0 ? "there are too many threads"
                                      : "the thread that forked it was not sampled");
    sample_store().use();
  }
  sample_store().note("{\"type\":\"end\",\"ended\":\"%s\",\"end\":%llu,\"cost\":%llu}\n", ended,
                      static_cast<unsigned long long>(time_of(CLOCK_MONOTONIC)),
                      static_cast<unsigned long long>(total_cost()));
  if (!sample_store().finish() && is_first_to_tell()) sample_store().say_problem();
}

void note_refused(int problem) {
  int none = 0;
  ++the_sampler.unsampled;
  the_sampler.problem.compare_exchange_strong(none, problem);
}

void thread_ends(void*) {
  if (is_sampled()) leave();  // not in a child that the program forked
}

// In a child after fork(), where only the forking thread goes on. Nothing here takes a lock that
// another thread may have held, or allocates memory.
void follow_child() {
  Sampler& sampler = the_sampler;
  const Thread* forking = this_thread();
  const int others = forget_threads(static_cast<std::uint32_t>(getpid()));
  if (!sampler.running || sampler.number == 0) return;
  if (others > 0 && !sampler.is_lockless) return leave_family();
  const bool attached = sampler.is_attached.exchange(false);
  if (attached) sampler.waits = sampler.rank.recorded && !sampler.rank.recorded();
  if (sampler.ancestor == 0) sampler.ancestor = sampler.process;
  sampler.process = getpid();
  sampler.unsampled = 0;
  sampler.problem = 0;
  sample_store().forget();
  follow_python();
  describe();
  note_counters();
  join_family();
  if (forking) {
    begin_thread();
  } else {
    note_refused(0);
  }
}

__attribute__((constructor)) void at_start() { begin_sampling(); }
__attribute__((destructor)) void at_exit() { end_sampling("exit"); }

}  // namespace

void* behind(const char* name) noexcept { return dlsym(RTLD_NEXT, name); }

bool is_sampled() noexcept { return the_sampler.number != 0 && the_sampler.process == getpid(); }

void begin_sampling() noexcept {
  Sampler& sampler = the_sampler;
  if (sampler.asked.exchange(true)) return;
  const char* period = getenv("ASSAY_SAMPLE_PERIOD");
  sampler.period = period ? strtoull(period, nullptr, 10) : 0;
  if (sampler.period == 0 || !getenv("ASSAY_PROFILE_DIR")) return;
  const char* start = getenv("ASSAY_PROFILE_START");
  sampler.waits = start && strcmp(start, "off") == 0;
  sampler.process = getpid();
  sampler.is_lockless = walks_without_locks();
  sample_store().prepare();
  sampler.number = free_signal();
  describe();
  find_counters();
  if (sampler.number == 0) {
    sample_store().doubt("the program uses all real-time signals", 0);
    sample_store().finish();
    return;
  }
  if (getenv("ASSAY_SAMPLE_FORKS") && found_family())
    pthread_atfork(nullptr, nullptr, follow_child);
  if (pthread_key_create(&sampler.key, thread_ends) != 0) sampler.key = 0;
  find_python();
  sampler.running = true;
  begin_thread();
}

void end_process() noexcept { end_sampling("_exit"); }

void begin_thread() noexcept {
  Sampler& sampler = the_sampler;
  if (!sampler.running) return;
  const int problem = enter(sampler.number, sampler.period);
  if (problem != 0) return note_refused(problem);
  const Thread* thread = this_thread();
  if (thread->number == 0) {
    sample_store().note("{\"type\":\"clock\",\"clock\":\"%s\"}\n",
                        thread->clock.is_counter() ? "task-clock" : "cpu-clock");
  } else if (pthread_setspecific(sampler.key, thread) != 0) {
    leave();
    note_refused(ENOMEM);
  }
}

void program_handles(int number) noexcept {
  Sampler& sampler = the_sampler;
  if (number != sampler.number || number == 0 || !is_sampled() || !sampler.running) return;
  stop_all();
  sample_store().doubt("the program set a handler of the signal that assay had chosen", 0);
  end_sampling("signal in use");
}

}  // namespace assay::trace

extern "C" {

void assay_sampling_attach(const assay::trace::SampledRank* rank) {
  auto& sampler = assay::trace::the_sampler;
  if (!assay::trace::is_sampled() || !sampler.running || sampler.is_attached) return;
  assay::trace::find_python();
  sampler.rank = *rank;
  sampler.is_attached.store(true, std::memory_order_release);
  char stem[1024];
  const char* last = rank->stem ? strrchr(rank->stem, '/') : nullptr;
  assay::trace::quote(last ? last + 1 : "", stem, sizeof stem);
  assay::trace::sample_store().note(
      "{\"type\":\"rank\",\"rank\":%d,\"ranks\":%d,\"files\":\"%s\",\"begin\":%llu}\n", rank->rank,
      rank->size, stem, static_cast<unsigned long long>(rank->begin));
  assay::trace::sample_store().use();
}

void assay_sampling_flush(void) {
  if (assay::trace::is_sampled()) assay::trace::sample_store().flush(true);
}
}
