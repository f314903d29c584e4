#include "harness/energy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

// A power (W) that no package reaches: the largest packages are specified for half of it. Between
// two readings a counter that could fill at this power has wrapped at most once.
constexpr double kMostPower = 1000.0;

// "intel-rapl:0" is a package or a platform, "intel-rapl:0:1" a subzone of that package.
bool counts_once(const std::string& zone, const std::string& name) {
  if (!zone.starts_with("intel-rapl:")) return false;
  const bool part = std::count(zone.begin(), zone.end(), ':') > 1;
  return part ? name == "dram" : name.starts_with("package");
}

}  // namespace

EnergyCounters::EnergyCounters() : EnergyCounters("/sys/class/powercap") {}

EnergyCounters::EnergyCounters(const std::string& folder) {
  for (const std::string& zone : names_in(folder)) {
    const std::string path = folder + "/" + zone;
    if (counts_once(zone, first_line(path + "/name"))) open_zone(path);
  }
}

EnergyCounters::~EnergyCounters() {
  for (const Counter& counter : counters_) close(counter.file);
}

void EnergyCounters::open_zone(const std::string& zone) {
  const auto range = first_number(first_line(zone + "/max_energy_range_uj"));
  const int file = open((zone + "/energy_uj").c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0 && range && *range > 0.0) {
    counters_.push_back({file, 1e-6 * *range});
    return;
  }
  if (file >= 0) close(file);
  whole_ = false;
}

std::vector<double> EnergyCounters::read() const {
  std::vector<double> shown;
  if (!whole_) return shown;
  for (const Counter& counter : counters_) {
    char text[64];
    const ssize_t length = pread(counter.file, text, sizeof text, 0);
    const auto value =
        first_number({text, length > 0 ? static_cast<std::size_t>(length) : std::size_t{0}});
    if (!value) return {};
    shown.push_back(1e-6 * *value);
  }
  return shown;
}

std::optional<double> EnergyCounters::between(const std::vector<double>& before,
                                              const std::vector<double>& after, double span) const {
  if (before.empty() || before.size() != after.size() || after.size() != counters_.size()) {
    return std::nullopt;
  }
  double total = 0.0;
  for (std::size_t i = 0; i < counters_.size(); ++i) {
    const double range = counters_[i].range;
    if (!(span * kMostPower < range)) return std::nullopt;
    const double step = after[i] - before[i];
    total += step < 0.0 ? step + range : step;
  }
  return total;
}

}  // namespace assay
