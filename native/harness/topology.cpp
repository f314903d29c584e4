#include "harness/topology.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "harness/text_file.hpp"

namespace assay {
namespace {

std::string cpu_folder(int id) { return "/sys/devices/system/cpu/cpu" + std::to_string(id); }

int number(const std::string& path, int fallback) {
  const std::string line = first_line(path);
  int value = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  return error == std::errc() && value >= 0 ? value : fallback;
}

int numa_node(int id) {
  for (const std::string& name : names_in(cpu_folder(id))) {
    if (name.starts_with("node") && name.size() > 4 && name[4] >= '0' && name[4] <= '9') {
      return std::stoi(name.substr(4));
    }
  }
  return -1;
}

// "512K", "32M": bytes.
std::size_t cache_bytes(const std::string& text) {
  std::size_t size = 0;
  const char* const last = text.data() + text.size();
  const char* const stop = std::from_chars(text.data(), last, size).ptr;
  const char unit = stop == last ? ' ' : *stop;
  if (unit == 'K') return size << 10;
  if (unit == 'M') return size << 20;
  if (unit == 'G') return size << 30;
  return size;
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto next = [&](int& id) {
    const auto [stop, error] = std::from_chars(at, end, id);
    at = stop;
    return error == std::errc();
  };
  int first = 0;
  while (next(first)) {
    int last = first;
    if (at != end && *at == '-' && (++at, !next(last))) break;
    for (int id = first; id <= last; ++id) ids.push_back(id);
    if (at != end && *at == ',') ++at;
  }
  return ids;
}

std::vector<Cpu> in_pinning_order(std::vector<Cpu> cpus) {
  std::sort(cpus.begin(), cpus.end(), [](const Cpu& a, const Cpu& b) {
    return std::tie(a.sibling, a.package, a.numa, a.core, a.id) <
           std::tie(b.sibling, b.package, b.numa, b.core, b.id);
  });
  return cpus;
}

std::vector<Cpu> read_cpus(const cpu_set_t& allowed) {
  std::vector<Cpu> cpus;
  for (int id = 0; id < CPU_SETSIZE; ++id) {
    if (!CPU_ISSET(id, &allowed)) continue;
    const std::string topology = cpu_folder(id) + "/topology/";
    Cpu cpu;
    cpu.id = id;
    cpu.package = number(topology + "physical_package_id", 0);
    cpu.numa = std::max(numa_node(id), 0);
    cpu.core = number(topology + "core_id", id);
    cpus.push_back(cpu);
  }
  // Siblings are counted among the allowed CPUs: where only the second hardware thread of a core is
  // allowed, it counts as the first.
  std::map<std::pair<int, int>, std::set<int>> members;
  for (const Cpu& cpu : cpus) {
    const auto siblings =
        parse_cpu_list(first_line(cpu_folder(cpu.id) + "/topology/thread_siblings_list"));
    const int lead = siblings.empty() ? cpu.id : siblings.front();
    auto& core = members[{cpu.package, lead}];
    core.insert(cpu.id);
  }
  for (Cpu& cpu : cpus) {
    for (const auto& [key, ids] : members) {
      const auto found = ids.find(cpu.id);
      if (found != ids.end()) cpu.sibling = static_cast<int>(std::distance(ids.begin(), found));
    }
  }
  return in_pinning_order(std::move(cpus));
}

std::set<int> neighbours_of(const std::set<int>& cpus) {
  std::set<int> found;
  const auto add = [&](const std::string& path) {
    const auto sharing = parse_cpu_list(first_line(path));
    found.insert(sharing.begin(), sharing.end());
  };
  for (const int id : cpus) {
    add(cpu_folder(id) + "/topology/thread_siblings_list");
    for (const std::string& name : names_in(cpu_folder(id) + "/cache")) {
      if (name.starts_with("index")) add(cpu_folder(id) + "/cache/" + name + "/shared_cpu_list");
    }
  }
  for (const int id : cpus) found.erase(id);
  return found;
}

Caches read_caches(const std::vector<Cpu>& cpus) {
  Caches caches;
  int last_level = 0;
  std::set<std::string> counted;
  for (const Cpu& cpu : cpus) {
    for (int index = 0;; ++index) {
      const std::string folder = cpu_folder(cpu.id) + "/cache/index" + std::to_string(index) + "/";
      const int level = number(folder + "level", 0);
      if (level == 0) break;
      if (first_line(folder + "type") == "Instruction") continue;
      const std::size_t size = cache_bytes(first_line(folder + "size"));
      if (level == 1) caches.l1d = std::max(caches.l1d, size);
      if (level == 2) caches.l2 = std::max(caches.l2, size);
      if (level > last_level) {
        last_level = level;
        counted.clear();
        caches.last_level_node = 0;
      }
      if (level == last_level && counted.insert(first_line(folder + "shared_cpu_list")).second) {
        caches.last_level_node += size;
      }
    }
  }
  return caches;
}

}  // namespace assay
