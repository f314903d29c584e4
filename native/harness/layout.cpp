#include "harness/layout.hpp"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "harness/agreement.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

cpu_set_t set_of(const std::vector<int>& ids) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int id : ids) CPU_SET(id, &set);
  return set;
}

// The CPUs that any rank of the node may use. If a launcher binds each rank to its own core, the
// node's ranks together can use all these cores.
cpu_set_t allowed_on_node(MPI_Comm node) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  cpu_set_t all;
  MPI_Allreduce(&mine, &all, static_cast<int>(sizeof mine), MPI_BYTE, MPI_BOR, node);
  return all;
}

// The node's first rank reads /sys for all ranks.
std::pair<std::vector<Cpu>, Caches> read_node(MPI_Comm node, int local_rank) {
  const cpu_set_t allowed = allowed_on_node(node);
  std::vector<Cpu> cpus;
  Caches caches;
  if (local_rank == 0) {
    cpus = read_cpus(allowed);
    caches = read_caches(cpus);
  }
  int count = static_cast<int>(cpus.size());
  MPI_Bcast(&count, 1, MPI_INT, 0, node);
  cpus.resize(static_cast<std::size_t>(count));
  MPI_Bcast(cpus.data(), count * static_cast<int>(sizeof(Cpu)), MPI_BYTE, 0, node);
  MPI_Bcast(&caches, static_cast<int>(sizeof caches), MPI_BYTE, 0, node);
  return {cpus, caches};
}

Caches greatest(MPI_Comm world, const Caches& mine) {
  unsigned long long sizes[] = {mine.l1d, mine.l2, mine.last_level_node};
  MPI_Allreduce(MPI_IN_PLACE, sizes, 3, MPI_UNSIGNED_LONG_LONG, MPI_MAX, world);
  return {sizes[0], sizes[1], sizes[2]};
}

// Pins thread t to given[t] (nothing if `given` is empty); returns the CPU on which each thread
// then runs.
std::vector<int> pin_threads(const std::vector<int>& given, int threads, bool& pinned) {
  std::vector<int> seen(static_cast<std::size_t>(threads), -1);
  int failures = 0;
#pragma omp parallel num_threads(threads) reduction(+ : failures)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    if (!given.empty()) {
      const cpu_set_t one = set_of({given[thread]});
      if (sched_setaffinity(0, sizeof one, &one) != 0) ++failures;
    }
    seen[thread] = sched_getcpu();
  }
  pinned = !given.empty() && failures == 0 && seen == given;
  return seen;
}

std::set<pid_t> openmp_threads(int threads) {
  std::vector<pid_t> ids(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  ids[static_cast<std::size_t>(omp_get_thread_num())] = gettid();
  return {ids.begin(), ids.end()};
}

// The devices that the ranks of this node use in turn: those that this process may see, in the
// order of their addresses. CUDA numbers them in this order if the variable is set before it
// starts.
std::vector<DevicePlace> used_devices(int devices) {
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
  std::vector<DevicePlace> places = device_places();
  for (const char* name : {"ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"}) {
    if (const char* const text = std::getenv(name)) {
      places = visible_devices(places, text);
      break;
    }
  }
  const auto wanted = static_cast<std::size_t>(devices);
  if (devices > 0 && places.size() > wanted) places.resize(wanted);
  return places;
}

}  // namespace

Layout lay_out(MPI_Comm world, MPI_Comm node, int threads, Binding binding, int devices) {
  Layout layout;
  layout.threads = threads;
  layout.node = node;
  MPI_Comm_rank(layout.node, &layout.local_rank);
  MPI_Comm_size(layout.node, &layout.local_size);
  const auto [cpus, caches] = read_node(layout.node, layout.local_rank);
  layout.caches = greatest(world, caches);
  layout.device_place = devices > 0 ? layout.local_rank % devices : layout.local_rank;

  const int slots = layout.local_size * threads;
  layout.oversubscribed = slots > static_cast<int>(cpus.size());
  Complaint misfit;
  std::vector<int> given;
  try {
    given = binding.kind == Binding::kNearDevice
                ? cpus_near_devices(cpus, slots, binding, threads, used_devices(devices))
                : cpus_of_slots(cpus_of_binding(cpus, slots, binding), slots, binding, threads);
  } catch (const KernelError&) {
    misfit = exception_message();
  }
  misfit = agree(world, misfit);
  if (misfit) throw KernelError(*misfit);
  std::vector<int> mine;
  if (!given.empty()) {
    const auto first = given.begin() + static_cast<std::ptrdiff_t>(layout.local_rank) * threads;
    mine.assign(first, first + threads);
  }
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  layout.cpus = pin_threads(mine, threads, layout.pinned);
  layout.whole_set = mine;
  const auto seat = std::find_if(cpus.begin(), cpus.end(),
                                 [&](const Cpu& cpu) { return cpu.id == layout.cpus[0]; });
  if (seat != cpus.end()) layout.numa = seat->numa;
  return layout;
}

LoosenBlasThreads::LoosenBlasThreads(const Layout& layout) {
  if (layout.whole_set.empty()) return;
  std::set<pid_t> kept = openmp_threads(layout.threads);
  kept.erase(gettid());
  const cpu_set_t whole = set_of(layout.whole_set);
  for (const std::string& name : names_in("/proc/self/task")) {
    const auto id = static_cast<pid_t>(std::stol(name));
    cpu_set_t before;
    if (kept.contains(id) || sched_getaffinity(id, sizeof before, &before) != 0) continue;
    if (sched_setaffinity(id, sizeof whole, &whole) == 0) before_.emplace_back(id, before);
  }
}

LoosenBlasThreads::~LoosenBlasThreads() {
  for (const auto& [id, before] : before_) sched_setaffinity(id, sizeof before, &before);
}

}  // namespace assay
