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

#include "harness/device_places.hpp"
#include "harness/kernel.hpp"
#include "harness/topology.hpp"

namespace assay {

// How CPUs are assigned to threads. `numa_node`: only its CPUs, or those of all nodes at -1.
// `share_cores`: whether threads share cores, as many per core as it has hardware threads (SMT).
struct Binding {
  enum Kind { kCompact, kSpread, kPerNuma, kNearDevice, kNone };
  Kind kind = kCompact;
  int numa_node = -1;
  bool share_cores = false;
};

// "compact", "spread", "per-numa", "near-device", "none" or "numa:1", which is compact on that
// node; nothing for any other word.
std::optional<Binding> parse_binding(const std::string& word);

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

// The CPU of each thread if each rank is bound near the device that it uses: rank r of the node
// near places[r % places.size()], and ranks near the same CPUs on neighbouring cores. Ranks whose
// device names no CPUs may use all. KernelError if there is no device, or too few CPUs near one.
std::vector<int> cpus_near_devices(const std::vector<Cpu>& ordered, int slots,
                                   const Binding& binding, int threads,
                                   const std::vector<DevicePlace>& places);

// The CPUs that the binding allows, in the same order. KernelError, with the numbers, if a named
// NUMA node doesn't exist or has fewer CPUs than there are slots.
std::vector<Cpu> cpus_of_binding(const std::vector<Cpu>& ordered, int slots,
                                 const Binding& binding);

// The CPUs of this rank and its node, once the threads are pinned.
struct Layout {
  MPI_Comm node = MPI_COMM_NULL;  // the ranks of this node
  int local_rank = 0;
  int local_size = 1;
  int threads = 1;
  std::vector<int> cpus;       // on which each thread runs
  std::vector<int> whole_set;  // CPUs assigned to this rank; empty if it isn't pinned
  std::optional<int> numa;
  int device_place = 0;  // the rank's place among those of its node that use devices in turn
  bool pinned = false;
  bool oversubscribed = false;
  Caches caches;  // the maximum over all ranks, so that all agree
};

// Collective over `world`; `node` holds its ranks on this node, in the order of their seats. Sets
// the number of OpenMP threads and pins each of them. `devices`: those of a node that its ranks use
// in turn, 0 for as many as there are ranks. KernelError, on all ranks, if the binding is
// impossible on some node.
Layout lay_out(MPI_Comm world, MPI_Comm node, int threads, Binding binding, int devices);

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
