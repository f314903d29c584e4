#include "check/machine.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>

#include "harness/proc_text.hpp"
#include "harness/quota.hpp"
#include "harness/text_file.hpp"
#include "harness/values.hpp"

namespace assay::check {
namespace {

// Assumed size of the caches if the system doesn't report it.
constexpr std::size_t kAssumedCaches = std::size_t{64} << 20;
constexpr double kPartOfMemory = 0.5;
constexpr double kUnlimited = std::numeric_limits<double>::max();

double available_on_node() {
  const auto found = numbers_after(read_text("/proc/meminfo").value_or(""), "MemAvailable:");
  return found.empty() ? kUnlimited : 1024.0 * found[0];
}

double available_in_groups() {
  const auto groups = read_text("/proc/self/cgroup");
  const auto mounts = read_text("/proc/self/mountinfo");
  double least = kUnlimited;
  if (!groups || !mounts) return least;
  for (const std::string& group : groups_of("memory", *groups, *mounts)) {
    // The names of version 2, then of version 1 (cgroups(7)).
    least = std::min(least, available_below(first_line(group + "/memory.max"),
                                            first_line(group + "/memory.current")));
    least = std::min(least, available_below(first_line(group + "/memory.limit_in_bytes"),
                                            first_line(group + "/memory.usage_in_bytes")));
  }
  return least;
}

std::string mebibytes(double bytes) { return std::to_string(std::llround(bytes / 0x1p20)); }

}  // namespace

double available_below(const std::string& limit, const std::string& use) {
  const auto most = first_number(limit);  // nothing for "max"
  const auto used = first_number(use);
  if (!most || !used) return kUnlimited;
  return std::max(*most - *used, 0.0);
}

Machine read_machine() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    throw KernelError(std::string("the system doesn't say which CPUs may be used: ") +
                      std::strerror(errno));
  }
  Machine machine;
  const std::vector<Cpu> cpus = read_cpus(allowed);
  machine.caches = read_caches(cpus).last_level_node;
  int node = -1;
  for (const Cpu& cpu : cpus) {
    if (cpu.sibling != 0) continue;
    machine.cores.push_back(cpu);
    if (cpu.numa == node) continue;
    node = cpu.numa;
    machine.cache_of_core = std::max(machine.cache_of_core, read_caches({cpu}).last_level_node);
  }
  if (machine.caches == 0) machine.caches = kAssumedCaches;
  if (machine.cache_of_core == 0) machine.cache_of_core = kAssumedCaches;
  return machine;
}

void require_memory(double bytes, const std::string& what) {
  const double allowed = kPartOfMemory * std::min(available_on_node(), available_in_groups());
  if (bytes <= allowed) return;
  throw KernelError(what + " need " + mebibytes(bytes) + " MiB of memory, but " +
                    mebibytes(allowed) + " MiB are the most: half of what is available");
}

}  // namespace assay::check
