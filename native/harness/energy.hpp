// The energy consumed by a node's processors and their memory, read through the power capping
// interface of Linux (RAPL: Intel 64 and IA-32 Architectures Software Developer's Manual, volume
// 3B, 15.10; Documentation/power/powercap/powercap.rst of Linux). AMD's processors are read the
// same way.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// Counters of all packages, and of their memory if it is counted separately. Subzones of a package
// (cores, graphics) are included in its counter; counters that span packages (psys) are left out,
// as are other interfaces to the same counters (intel-rapl-mmio).
class EnergyCounters {
 public:
  EnergyCounters();  // of this machine
  explicit EnergyCounters(const std::string& folder);
  ~EnergyCounters();
  EnergyCounters(const EnergyCounters&) = delete;
  EnergyCounters& operator=(const EnergyCounters&) = delete;

  // The reading of each counter, in J. Empty if there is no counter, or if one can't be read,
  // because the others would be mistaken for the total.
  std::vector<double> read() const;

  // J between two readings `span` seconds apart. The counters wrap around; nothing if one may have
  // wrapped twice.
  std::optional<double> between(const std::vector<double>& before, const std::vector<double>& after,
                                double span) const;

 private:
  struct Counter {
    int file;
    double range;  // J at which the counter wraps around
  };
  void open_zone(const std::string& zone);

  std::vector<Counter> counters_;
  bool whole_ = true;
};

}  // namespace assay
