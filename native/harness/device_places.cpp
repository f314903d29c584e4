#include "harness/device_places.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <climits>

#include "harness/kernel.hpp"
#include "harness/text_file.hpp"
#include "harness/topology.hpp"

namespace assay {
namespace {

// The number in a file, decimal or after 0x; -1 without one.
long file_number(const std::string& path) {
  const std::string text = first_line(path);
  const bool hexadecimal = text.starts_with("0x");
  long value = -1;
  const char* const begin = text.data() + (hexadecimal ? 2 : 0);
  std::from_chars(begin, text.data() + text.size(), value, hexadecimal ? 16 : 10);
  return value;
}

std::string driver_of(const std::string& folder) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = readlink((folder + "/driver").c_str(), target.data(), target.size() - 1);
  const std::string text(target.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  return text.substr(text.rfind('/') + 1);
}

// Drivers by the order in which their devices count.
constexpr std::array kDrivers{"nvidia", "amdgpu", "xe", "i915"};

// The place of the driver in kDrivers, or their number for all other devices.
std::size_t rank_of_driver(const std::string& folder) {
  // Class and subclass of the PCI Code and ID Assignment Specification.
  constexpr std::array kKinds{0x0300L, 0x0302L, 0x0380L, 0x1200L};
  const long kind = file_number(folder + "/class") >> 8;
  if (std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) return kDrivers.size();
  const auto found = std::find(kDrivers.begin(), kDrivers.end(), driver_of(folder));
  return static_cast<std::size_t>(found - kDrivers.begin());
}

}  // namespace

std::vector<int> cpus_near_device(const std::string& address, const std::string& folder) {
  std::string lower = address;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return parse_cpu_list(first_line(folder + "/" + lower + "/local_cpulist"));
}

std::vector<DevicePlace> device_places(const std::string& folder) {
  std::vector<DevicePlace> found;
  std::size_t best = kDrivers.size() - 1;
  for (const std::string& address : names_in(folder)) {
    const std::string place = folder + "/" + address;
    const std::size_t rank = rank_of_driver(place);
    if (rank > best) continue;
    if (rank < best) found.clear();
    best = rank;
    const int numa = static_cast<int>(file_number(place + "/numa_node"));
    found.push_back({address, numa, cpus_near_device(address, folder)});
  }
  std::sort(found.begin(), found.end(),
            [](const DevicePlace& a, const DevicePlace& b) { return a.address < b.address; });
  return found;
}

std::vector<DevicePlace> visible_devices(const std::vector<DevicePlace>& places,
                                         const std::string& text) {
  std::vector<DevicePlace> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (!word.empty() && std::isalpha(static_cast<unsigned char>(word[0]))) {
      throw KernelError("ranks can't be bound near their devices, which are named by '" + word +
                        "'; name them by numbers");
    }
    if (error != std::errc() || stop != word.data() + word.size() || number >= places.size()) break;
    found.push_back(places[number]);
  }
  return found;
}

}  // namespace assay
