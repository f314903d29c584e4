#include "device/kfd.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

namespace assay::device {
namespace {

namespace fs = std::filesystem;

// A file of names and numbers, one a line.
std::map<std::string, std::uint64_t> properties(const fs::path& path) {
  std::ifstream file(path);
  std::map<std::string, std::uint64_t> found;
  std::string name;
  for (std::uint64_t number = 0; file >> name >> number;) found[name] = number;
  return found;
}

std::uint64_t of(const std::map<std::string, std::uint64_t>& all, const std::string& name) {
  const auto found = all.find(name);
  return found == all.end() ? 0 : found->second;
}

// 90010 is version 9, 0, 10: the last two digits of a name are hexadecimal.
std::string architecture_of(std::uint64_t version) {
  if (version == 0) return "";
  char name[32];
  std::snprintf(name, sizeof name, "gfx%u%x%x", static_cast<unsigned>(version / 10000),
                static_cast<unsigned>(version / 100 % 100), static_cast<unsigned>(version % 100));
  return name;
}

// Sizes are in KiB. Several caches of the last level count once each.
std::uint64_t last_cache(const fs::path& caches) {
  std::map<std::uint64_t, std::uint64_t> by_level;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(caches, error)) {
    const auto cache = properties(each.path() / "properties");
    by_level[of(cache, "level")] += of(cache, "size") << 10;
  }
  return by_level.empty() ? 0 : by_level.rbegin()->second;
}

}  // namespace

KfdNode kfd_node(const std::string& address, const std::string& nodes) {
  unsigned domain = 0, bus = 0, slot = 0, function = 0;
  if (std::sscanf(address.c_str(), "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) return {};
  const std::uint64_t location = bus << 8 | slot << 3 | function;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(nodes, error)) {
    const auto node = properties(each.path() / "properties");
    if (of(node, "simd_count") == 0) continue;  // a processor
    if (of(node, "domain") != domain || of(node, "location_id") != location) continue;
    return {architecture_of(of(node, "gfx_target_version")), last_cache(each.path() / "caches")};
  }
  return {};
}

}  // namespace assay::device
