// How CPUs are assigned to ranks and threads.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "harness/layout.hpp"

namespace assay {

std::optional<Binding> parse_binding(const std::string& word) {
  if (word == "compact") return Binding{Binding::kCompact};
  if (word == "spread") return Binding{Binding::kSpread};
  if (word == "per-numa") return Binding{Binding::kPerNuma};
  if (word == "near-device") return Binding{Binding::kNearDevice};
  if (word == "none") return Binding{Binding::kNone};
  const std::string prefix = "numa:";
  if (!word.starts_with(prefix)) return std::nullopt;
  int node = -1;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data() + prefix.size(), end, node);
  if (error != std::errc() || stop != end || node < 0) return std::nullopt;
  return Binding{Binding::kCompact, node};
}

std::vector<Cpu> cpus_of_binding(const std::vector<Cpu>& ordered, int slots,
                                 const Binding& binding) {
  if (binding.numa_node < 0) return ordered;
  std::vector<Cpu> found;
  std::set<int> nodes;
  for (const Cpu& cpu : ordered) {
    nodes.insert(cpu.numa);
    if (cpu.numa == binding.numa_node) found.push_back(cpu);
  }
  const std::string name = "NUMA node " + std::to_string(binding.numa_node);
  if (found.empty()) {
    std::string valid;
    for (const int node : nodes) valid += (valid.empty() ? "" : ", ") + std::to_string(node);
    throw KernelError(name + " has no CPU that may be used here; these have: " + valid);
  }
  if (slots > static_cast<int>(found.size())) {
    throw KernelError(name + " has " + std::to_string(found.size()) +
                      " CPUs that may be used, but " + std::to_string(slots) +
                      " threads are to be bound to it");
  }
  return found;
}

namespace {

// The CPUs of each core, in the order in which cores are assigned.
std::vector<std::vector<int>> by_core(const std::vector<Cpu>& ordered) {
  std::map<std::tuple<int, int, int>, std::vector<int>> cores;
  for (const Cpu& cpu : ordered) cores[{cpu.package, cpu.numa, cpu.core}].push_back(cpu.id);
  std::vector<std::vector<int>> found;
  for (auto& [key, ids] : cores) found.push_back(std::move(ids));
  return found;
}

// All hardware threads of the minimum number of cores: the first cores, or cores at equal
// distances.
std::vector<int> on_shared_cores(const std::vector<Cpu>& ordered, int slots, bool spread) {
  const auto cores = by_core(ordered);
  std::vector<int> given;
  for (std::size_t used = 1; given.size() < static_cast<std::size_t>(slots); ++used) {
    given.clear();
    for (std::size_t i = 0; i < used; ++i) {
      const auto& core = cores[spread ? i * cores.size() / used : i];
      given.insert(given.end(), core.begin(), core.end());
    }
  }
  given.resize(static_cast<std::size_t>(slots));
  return given;
}

std::vector<int> on_separate_cores(const std::vector<Cpu>& ordered, int slots, bool spread) {
  const auto cores =
      static_cast<int>(std::count_if(ordered.begin(), ordered.end(), [&](const Cpu& c) {
        return c.sibling == ordered[0].sibling;
      }));
  std::vector<int> given;
  for (int slot = 0; slot < slots; ++slot) {
    const long long place =
        spread && slots <= cores ? static_cast<long long>(slot) * cores / slots : slot;
    given.push_back(ordered[static_cast<std::size_t>(place)].id);
  }
  return given;
}

std::vector<int> on_each_numa_node(const std::vector<Cpu>& ordered, int slots,
                                   const Binding& binding, int threads) {
  std::map<int, std::vector<Cpu>> nodes;
  for (const Cpu& cpu : ordered) nodes[cpu.numa].push_back(cpu);
  const auto count = static_cast<long long>(nodes.size());
  const int ranks = slots / threads;
  std::vector<int> given;
  long long place = 0;
  for (const auto& [number, cpus] : nodes) {
    // Rank r goes to the node r * count / ranks.
    int here = 0;
    for (int rank = 0; rank < ranks; ++rank) here += rank * count / ranks == place;
    Binding within{Binding::kCompact, number, binding.share_cores};
    const auto own =
        cpus_of_slots(cpus_of_binding(cpus, here * threads, within), here * threads, within);
    given.insert(given.end(), own.begin(), own.end());
    ++place;
  }
  return given;
}

}  // namespace

std::vector<int> cpus_near_devices(const std::vector<Cpu>& ordered, int slots,
                                   const Binding& binding, int threads,
                                   const std::vector<DevicePlace>& places) {
  if (places.empty()) {
    throw KernelError("near-device: this node shows no accelerator with a driver on its PCI bus");
  }
  if (slots > static_cast<int>(ordered.size())) return {};
  const int ranks = slots / threads;
  std::map<std::vector<int>, std::vector<int>> groups;  // ranks by the CPUs near their device
  for (int rank = 0; rank < ranks; ++rank) {
    groups[places[static_cast<std::size_t>(rank) % places.size()].cpus].push_back(rank);
  }
  std::vector<int> given(static_cast<std::size_t>(slots));
  std::set<int> taken;
  // Ranks that may run anywhere come last and get what the others leave: the empty list sorts
  // first.
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
    const auto& [near, members] = *group;
    std::vector<Cpu> free;
    for (const Cpu& cpu : ordered) {
      const bool here = near.empty() || std::find(near.begin(), near.end(), cpu.id) != near.end();
      if (here && !taken.contains(cpu.id)) free.push_back(cpu);
    }
    const int needed = static_cast<int>(members.size()) * threads;
    if (needed > static_cast<int>(free.size())) {
      const auto first = static_cast<std::size_t>(members.front()) % places.size();
      throw KernelError("near-device: " + std::to_string(free.size()) + " CPUs near the device " +
                        places[first].address + " may be used, but " + std::to_string(needed) +
                        " threads are to be bound to them");
    }
    const auto own = cpus_of_slots(free, needed, {Binding::kCompact, -1, binding.share_cores});
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto rank = static_cast<std::size_t>(members[i / static_cast<std::size_t>(threads)]);
      given[rank * static_cast<std::size_t>(threads) + i % static_cast<std::size_t>(threads)] =
          own[i];
      taken.insert(own[i]);
    }
  }
  return given;
}

std::vector<int> cpus_of_slots(const std::vector<Cpu>& ordered, int slots, const Binding& binding,
                               int threads) {
  if (binding.kind == Binding::kNone || slots > static_cast<int>(ordered.size())) return {};
  if (binding.kind == Binding::kPerNuma) return on_each_numa_node(ordered, slots, binding, threads);
  const bool spread = binding.kind == Binding::kSpread;
  return binding.share_cores ? on_shared_cores(ordered, slots, spread)
                             : on_separate_cores(ordered, slots, spread);
}

}  // namespace assay
