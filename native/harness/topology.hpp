// CPUs and caches as /sys describes them, and the order in which CPUs are assigned. Without MPI.
#pragma once

#include <sched.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace assay {

// Sizes in bytes, 0 if unknown; last_level is the sum over the caches of this rank's node.
struct Caches {
  std::size_t l1d = 0;
  std::size_t l2 = 0;
  std::size_t last_level_node = 0;
};

// One logical CPU as /sys describes it. `core` is unique within its package; `sibling` counts the
// hardware threads of a core from 0.
struct Cpu {
  int id = 0;
  int package = 0;
  int numa = 0;
  int core = 0;
  int sibling = 0;
};

// In the order in which they are assigned: first siblings of all cores, package by package and NUMA
// node by NUMA node, before any second sibling, so that physical cores fill first.
std::vector<Cpu> in_pinning_order(std::vector<Cpu> cpus);

// Parses "0-3,8", the format of the kernel.
std::vector<int> parse_cpu_list(const std::string& text);

// The CPUs of that set as /sys describes them, and the caches over them.
std::vector<Cpu> read_cpus(const cpu_set_t& allowed);
// The other CPUs that share a core or a cache with one of these.
std::set<int> neighbours_of(const std::set<int>& cpus);
Caches read_caches(const std::vector<Cpu>& cpus);

}  // namespace assay
