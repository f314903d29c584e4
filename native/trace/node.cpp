#include "node.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "profile.hpp"

namespace assay::trace {
namespace {

constinit NodeState the_node;

// A chain of dependent operations takes a fixed number of cycles, so its rate follows the clock of
// the CPU. The fastest of short rounds is taken: a round in which the rank lost its CPU is slower.
constexpr int kRounds = 60, kChain = 30'000;
constexpr std::int64_t kSecond = 1'000'000'000;

std::size_t content(const char* path, char* text, std::size_t size) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t count = read(file, text, size - 1);
  close(file);
  text[count > 0 ? count : 0] = 0;
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

double speed() {
  std::uint64_t least = ~0ULL;
  std::uint64_t value = now() | 1U;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t from = now();
    for (int i = 0; i < kChain; ++i) {
      value = value * 6364136223846793005ULL + 1442695040888963407ULL;
      asm volatile("" : "+r"(value));
    }
    const std::uint64_t time = now() - from;
    least = time < least ? time : least;
  }
  return least > 0 ? 1e9 * kChain / static_cast<double>(least) : 0.0;
}

std::int64_t cpu_time(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return -1;
  return time.tv_sec * kSecond + time.tv_nsec;
}

// CPU time of the main thread when it left MPI; -1: another thread, or not asked for. Only outside
// of MPI can a rank use its CPU, or lack it: in MPI it may yield its CPU while it waits.
thread_local std::int64_t left_mpi __attribute__((tls_model("initial-exec"))) = -1;

// "cpu  user nice system idle iowait irq softirq steal": time in use is without idle and iowait.
std::int64_t busy_time() {
  char text[512];
  if (content("/proc/stat", text, sizeof text) == 0) return -1;
  long long user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft = 0;
  if (sscanf(text, "cpu %lld %lld %lld %lld %lld %lld %lld", &user, &nice, &system, &idle, &waiting,
             &irq, &soft) < 7) {
    return -1;
  }
  return (user + nice + system + irq + soft) * (kSecond / sysconf(_SC_CLK_TCK));
}

// Of one control group: "throttled_usec N" in version 2, "throttled_time N" (ns) in version 1.
std::int64_t held_in(const char* folder) {
  char path[1200], text[1024];
  snprintf(path, sizeof path, "%s/cpu.stat", folder);
  if (content(path, text, sizeof text) == 0) return -1;
  if (const char* found = strstr(text, "throttled_usec ")) return 1000 * atoll(found + 15);
  if (const char* found = strstr(text, "throttled_time ")) return atoll(found + 15);
  return -1;
}

// The most over this process's group and those above it.
std::int64_t held_time() {
  char text[4096];
  if (content("/proc/self/cgroup", text, sizeof text) == 0) return -1;
  std::int64_t most = -1;
  char* rest = nullptr;
  for (char* line = strtok_r(text, "\n", &rest); line; line = strtok_r(nullptr, "\n", &rest)) {
    char* const controllers = strchr(line, ':');
    char* const path = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!path) continue;
    *path = 0;
    const char* const names = controllers + 1;
    const bool unified = *names == 0;
    const bool cpu = strcmp(names, "cpu") == 0 || strcmp(names, "cpu,cpuacct") == 0 ||
                     strcmp(names, "cpuacct,cpu") == 0;
    if (!unified && !cpu) continue;
    char folder[1100];
    int used = snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%.60s", unified ? "" : "/", names);
    const int root = used;
    used +=
        snprintf(folder + used, sizeof folder - static_cast<std::size_t>(used), "%.900s", path + 1);
    while (used >= root) {
      const std::int64_t held = held_in(folder);
      most = held > most ? held : most;
      while (used > root && folder[used - 1] != '/') --used;
      if (--used < root) break;
      folder[used] = 0;
    }
  }
  return most;
}

void allowed_cpus(char* list, std::size_t size) {
  char text[8192];
  if (content("/proc/self/status", text, sizeof text) == 0) return;
  const char* found = strstr(text, "Cpus_allowed_list:");
  if (!found) return;
  found += strspn(found + 18, " \t") + 18;
  const std::size_t length = strcspn(found, "\n");
  if (length >= size) return;  // longer than any list of one rank's CPUs
  memcpy(list, found, length);
  list[length] = 0;
}

std::int64_t since(std::int64_t before, std::int64_t after) {
  return before < 0 || after < before ? -1 : after - before;
}

}  // namespace

void begin_node() noexcept {
  NodeState& mine = the_node;
  if (mine.known || !getenv("ASSAY_PROFILE_NODE")) return;
  mine.known = true;
  allowed_cpus(mine.cpus, sizeof mine.cpus);
  mine.online = sysconf(_SC_NPROCESSORS_ONLN);
  mine.speed_begin = speed();
  mine.held = held_time();
  mine.busy = busy_time();
  mine.cpu_time = cpu_time(CLOCK_PROCESS_CPUTIME_ID);
  left_mpi = cpu_time(CLOCK_THREAD_CPUTIME_ID);
}

void enter_mpi() noexcept {
  if (left_mpi >= 0) the_node.computing += cpu_time(CLOCK_THREAD_CPUTIME_ID) - left_mpi;
}

void leave_mpi() noexcept {
  if (left_mpi >= 0) left_mpi = cpu_time(CLOCK_THREAD_CPUTIME_ID);
}

const NodeState& end_node() noexcept {
  NodeState& mine = the_node;
  if (!mine.known) return mine;
  mine.cpu_time = since(mine.cpu_time, cpu_time(CLOCK_PROCESS_CPUTIME_ID));
  mine.busy = since(mine.busy, busy_time());
  mine.held = since(mine.held, held_time());
  mine.speed_end = speed();
  return mine;
}

}  // namespace assay::trace
