// Placement of ranks and threads on CPUs: the harness pins them, so that it is the same with every
// MPI.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

// How CPUs are assigned to threads. `numa_node`: only its CPUs, or those of all nodes at -1.
// `share_cores`: whether threads share cores, as many per core as it has hardware threads (SMT).
struct Binding {
  enum Kind { kCompact, kSpread, kPerNuma, kNone };
  Kind kind = kCompact;
  int numa_node = -1;
  bool share_cores = false;
};

// "compact", "spread", "per-numa", "none" or "numa:1", which is compact on that node; nothing for
// any other word.
std::optional<Binding> parse_binding(const std::string& word);

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

// The CPU of each of `slots` threads of a node (rank after rank of `threads` each); empty if
// nothing is to be pinned. compact: neighbouring slots on neighbouring cores. spread: slots at
// equal distances over all cores, as long as there are enough cores. per-numa: ranks are
// distributed evenly over NUMA nodes, neighbours to the same one, and each has neighbouring cores
// there. KernelError if a NUMA node has fewer CPUs than its ranks need.
//
// Cores fill with their first hardware threads before any second one is used, unless cores are
// shared: then all hardware threads of a core are assigned before the next core's; compact on the
// minimum number of cores, spread over the same number at equal distances.
//
// With more slots than CPUs nothing is pinned: MPI ranks wait by polling, and two ranks pinned to
// one CPU would each use up the other's time slice, as the scheduler could not separate them.
std::vector<int> cpus_of_slots(const std::vector<Cpu>& ordered, int slots, const Binding& binding,
                               int threads = 1);

// The CPUs that the binding allows, in the same order. KernelError, with the numbers, if a named
// NUMA node doesn't exist or has fewer CPUs than there are slots.
std::vector<Cpu> cpus_of_binding(const std::vector<Cpu>& ordered, int slots,
                                 const Binding& binding);

// Parses "0-3,8", the format of the kernel.
std::vector<int> parse_cpu_list(const std::string& text);

// The CPUs of that set as /sys describes them, and the caches over them.
std::vector<Cpu> read_cpus(const cpu_set_t& allowed);
// The other CPUs that share a core or a cache with one of these.
std::set<int> neighbours_of(const std::set<int>& cpus);
Caches read_caches(const std::vector<Cpu>& cpus);

// The CPUs of this rank and its node, once the threads are pinned.
struct Layout {
  MPI_Comm node = MPI_COMM_NULL;  // the ranks of this node
  int local_rank = 0;
  int local_size = 1;
  int threads = 1;
  std::vector<int> cpus;       // on which each thread runs
  std::vector<int> whole_set;  // CPUs assigned to this rank; empty if it isn't pinned
  std::optional<int> numa;
  bool pinned = false;
  bool oversubscribed = false;
  Caches caches;  // the maximum over all ranks, so that all agree
};

// Collective over `world`; `node` holds its ranks on this node, in the order of their seats. Sets
// the number of OpenMP threads and pins each of them. KernelError, on all ranks, if the binding is
// impossible on some node.
Layout lay_out(MPI_Comm world, MPI_Comm node, int threads, Binding binding);

// For the lifetime of the object, the main thread and every thread outside OpenMP (a BLAS's own
// pool) may use all CPUs of the rank instead of the first one.
class LoosenBlasThreads {
 public:
  explicit LoosenBlasThreads(const Layout& layout);
  ~LoosenBlasThreads();
  LoosenBlasThreads(const LoosenBlasThreads&) = delete;
  LoosenBlasThreads& operator=(const LoosenBlasThreads&) = delete;

 private:
  std::vector<std::pair<pid_t, cpu_set_t>> before_;
};

}  // namespace assay
