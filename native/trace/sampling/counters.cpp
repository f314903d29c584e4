#include "sampling/counters.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sampling/store.hpp"

namespace assay::trace {
namespace {

// Descriptors below are the program's: it isn't to run out of them.
constexpr int kHighDescriptor = 900;

struct Event {
  const char* name;  // as perf-list(1) has it
  std::uint32_t type;
  std::uint64_t config;
};
constexpr Event kEvents[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
};

struct Chosen {
  const Event* event = nullptr;
  bool user = false;  // counts user code only
};
constinit Chosen chosen[kMostCounters];
std::uint32_t number = 0;

int open_event(const Chosen& one, int leader) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = one.event->type;
  wanted.config = one.event->config;
  wanted.exclude_kernel = one.user;
  wanted.exclude_hv = one.user;
  wanted.disabled = leader < 0;
  wanted.read_format =
      PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  const int low =
      static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, leader, PERF_FLAG_FD_CLOEXEC));
  if (low < 0) return -errno;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  const int problem = errno;
  close(low);
  return high >= 0 ? high : -problem;
}

// Whether an event can be counted; 0, or an errno. Hardware counts user code only, so that ratios
// mean the same everywhere.
int try_event(Chosen& one) {
  one.user = one.event->type == PERF_TYPE_HARDWARE;
  int file = open_event(one, -1);
  if ((file == -EACCES || file == -EPERM) && !one.user) {
    one.user = true;
    file = open_event(one, -1);
  }
  if (file < 0) return -file;
  close(file);
  return 0;
}

void note_refused_event(const char* name, int problem) {
  char quoted[128];
  quote(name, quoted, sizeof quoted);
  sample_store().note("{\"type\":\"uncounted\",\"event\":\"%s\",\"error\":%d,\"problem\":\"%s\"}\n",
                      quoted, problem, problem ? strerror(problem) : "");
}

}  // namespace

std::uint32_t counters() noexcept { return number; }

void find_counters() noexcept {
  const char* list = getenv("ASSAY_SAMPLE_COUNTERS");
  for (const char* at = list; at && *at;) {
    const std::size_t length = strcspn(at, ",");
    char name[64] = {};
    memcpy(name, at, length < sizeof name ? length : sizeof name - 1);
    at += length + (at[length] == ',');
    const Event* event = nullptr;
    for (const Event& one : kEvents) {
      if (strcmp(one.name, name) == 0) event = &one;
    }
    if (!event || number == kMostCounters) {
      note_refused_event(name, event ? E2BIG : EINVAL);
      continue;
    }
    chosen[number].event = event;
    if (const int problem = try_event(chosen[number])) {
      note_refused_event(name, problem);
    } else {
      ++number;
    }
  }
  note_counters();
}

void note_counters() noexcept {
  for (std::uint32_t i = 0; i < number; ++i) {
    sample_store().note("{\"type\":\"counter\",\"event\":\"%s\",\"user\":%s}\n",
                        chosen[i].event->name, chosen[i].user ? "true" : "false");
  }
}

// A group is counted together or not at all, so that ratios of its events are right.
void ThreadCounters::start() noexcept {
  stop();
  for (std::uint32_t i = 0; i < number; ++i) {
    const int file = open_event(chosen[i], i == 0 ? -1 : files_[0]);
    if (file < 0) return stop();
    files_[i] = file;
  }
  mark_ = Counted{};
  if (number > 0) ioctl(files_[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

void ThreadCounters::stop() noexcept { forget(); }

void ThreadCounters::forget() noexcept {
  for (std::uint32_t i = kMostCounters; i-- > 0;) {
    if (files_[i] > 0) close(files_[i]);
    files_[i] = 0;
  }
}

Counted ThreadCounters::total() const noexcept {
  struct {
    std::uint64_t number, enabled, running, values[kMostCounters];
  } found{};
  Counted counted;
  if (!are_open() || read(files_[0], &found, sizeof found) <= 0 || found.number != number) {
    return mark_;  // nothing more is known
  }
  counted.enabled = found.enabled;
  counted.running = found.running;
  memcpy(counted.values, found.values, sizeof counted.values);
  return counted;
}

Counted ThreadCounters::since_mark() const noexcept {
  Counted counted = total();
  counted.enabled -= mark_.enabled;
  counted.running -= mark_.running;
  for (std::uint32_t i = 0; i < number; ++i) counted.values[i] -= mark_.values[i];
  return counted;
}

void ThreadCounters::mark() noexcept { mark_ = total(); }

void write_counted(const ThreadCounters& of, char* to, std::size_t size) noexcept {
  to[0] = 0;
  if (!of.are_open()) return;
  const Counted counted = of.total();
  int used = snprintf(to, size, ",\"enabled\":%llu,\"running\":%llu,\"counted\":[",
                      static_cast<unsigned long long>(counted.enabled),
                      static_cast<unsigned long long>(counted.running));
  for (std::uint32_t i = 0; i < number; ++i) {
    used += snprintf(to + used, size - static_cast<std::size_t>(used), "%s%llu", i ? "," : "",
                     static_cast<unsigned long long>(counted.values[i]));
  }
  snprintf(to + used, size - static_cast<std::size_t>(used), "]");
}

}  // namespace assay::trace
