#include "profile.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "events/tracer.hpp"
#include "steps.hpp"
#include "store.hpp"

namespace assay::trace {
namespace {

constinit Profile the_profile;

// An error of the clock that ASSAY_TRACE_CLOCK="OFFSET DRIFT" (ns, ns per s) asks for: for tests of
// what corrects it.
struct ClockError {
  bool used = false;
  std::uint64_t offset = 0;
  double drift = 0.0;
  std::uint64_t since = 0;
};
constinit ClockError the_error;

std::uint64_t clock_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The program's default for SIGTERM is to end: the profile is written first.
void terminated(int number) {
  write_profile("signal");
  signal(number, SIG_DFL);
  raise(number);
}

void catch_termination() {
  struct sigaction before{};
  if (sigaction(SIGTERM, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
  struct sigaction mine{};
  mine.sa_handler = terminated;
  sigemptyset(&mine.sa_mask);
  sigaction(SIGTERM, &mine, nullptr);
}

__attribute__((destructor)) void at_exit() {
  write_profile("exit");
  finish_trace("finalize");  // of a program with sessions only
}

}  // namespace

Profile& profile() { return the_profile; }

std::uint64_t now() {
  const std::uint64_t time = clock_of(CLOCK_MONOTONIC);
  if (!the_error.used) return time;
  const auto elapsed = static_cast<double>(time - the_error.since);
  return time + the_error.offset + static_cast<std::uint64_t>(elapsed * the_error.drift);
}

std::int64_t cpu_wait() noexcept {
  const int file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[96] = {};
  const ssize_t count = read(file, text, sizeof text - 1);
  close(file);
  // "time on a CPU, time waiting for one, number of time slices"
  const char* second = count > 0 ? strchr(text, ' ') : nullptr;
  if (!second) return -1;
  std::int64_t value = 0;
  for (++second; *second >= '0' && *second <= '9'; ++second) value = 10 * value + (*second - '0');
  return value;
}

Persistent* persistent_of(std::uint64_t request, bool make) {
  const std::uint64_t begin = (request >> 4) ^ request * 0x9e3779b97f4a7c15ULL >> 40;
  Persistent* room = nullptr;
  for (std::uint32_t i = 0; i < kPersistent; ++i) {
    Persistent& slot = the_profile.persistent[(begin + i) % kPersistent];
    if (slot.kind > Persistent::kRemoved && slot.request == request) return &slot;
    if (slot.kind <= Persistent::kRemoved && !room) room = &slot;
    if (slot.kind == Persistent::kFree) break;
  }
  if (!make || !room) return nullptr;
  room->request = request;
  return room;
}

void begin_profile() {
  Profile& mine = the_profile;
  if (mine.begin == 0) {
    if (const char* error = getenv("ASSAY_TRACE_CLOCK")) {
      char* rest = nullptr;
      the_error.offset = strtoull(error, &rest, 10);
      the_error.drift = 1e-9 * strtod(rest, nullptr);
      the_error.since = now();
      the_error.used = true;
    }
    mine.begin = now();
    mine.begin_wall = clock_of(CLOCK_REALTIME);
    mine.process = getpid();
    mine.cpu_wait = cpu_wait();
    find_step_site();
    const char* start = getenv("ASSAY_PROFILE_START");
    mine.on = !start || strcmp(start, "off") != 0;
    mine.since = mine.begin;
    mine.waited_since = mine.cpu_wait;
    if (const char* most = getenv("ASSAY_PROFILE_ENTRIES")) {
      store().limit(static_cast<std::uint32_t>(strtoul(most, nullptr, 10)));
    }
    catch_termination();
  }
  mine.alive = true;
}

void switch_profile(int level) {
  Profile& mine = the_profile;
  const bool wanted = level != 0;
  if (wanted) ++mine.runs;
  const std::uint64_t time = now();
  if (wanted != mine.on && mine.begin != 0) {
    if (wanted) {
      mine.since = time;
      mine.waited_since = cpu_wait();
    } else {
      mine.counted = counted_time(time);
      mine.waited = counted_wait();
    }
    Store::Lock lock(store());
    tracer().switched(time, wanted);
  }
  mine.on = wanted;
}

std::uint64_t counted_time(std::uint64_t until) noexcept {
  const Profile& mine = the_profile;
  return mine.counted + (mine.on && until > mine.since ? until - mine.since : 0);
}

std::int64_t counted_wait() noexcept {
  const Profile& mine = the_profile;
  if (!mine.on) return mine.waited;
  const std::int64_t now_waited = cpu_wait();
  if (mine.waited < 0 || mine.waited_since < 0 || now_waited < mine.waited_since) return -1;
  return mine.waited + now_waited - mine.waited_since;
}

}  // namespace assay::trace
