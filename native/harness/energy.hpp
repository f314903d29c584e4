// The energy that a node's processors and their memory have taken, of the power capping interface
// of Linux (RAPL: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 3B, 15.10;
// Documentation/power/powercap/powercap.rst of Linux). AMD's processors are read the same way.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// Counters of all packages, and of their memory where it is counted apart. What lies within a
// package (cores, graphics) is counted with it; what is counted over packages (psys) is left out,
// and so are other ways to the same counters (intel-rapl-mmio).
class EnergyCounters {
 public:
  EnergyCounters();  // of this machine
  explicit EnergyCounters(const std::string& folder);
  ~EnergyCounters();
  EnergyCounters(const EnergyCounters&) = delete;
  EnergyCounters& operator=(const EnergyCounters&) = delete;

  // What each of them shows, in J; empty where there are none, or one of them can't be read: part
  // of the energy would be taken for all of it.
  std::vector<double> read() const;

  // J between two readings that lie `span` seconds apart. The counters begin anew when they are
  // full; nothing where that may have happened twice.
  std::optional<double> between(const std::vector<double>& before, const std::vector<double>& after,
                                double span) const;

 private:
  struct Counter {
    int file;
    double range;  // J that it counts before it begins anew
  };
  void open_zone(const std::string& zone);

  std::vector<Counter> counters_;
  bool whole_ = true;
};

}  // namespace assay
