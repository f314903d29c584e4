// What else the node did during a measurement.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "check/machine.hpp"
#include "harness/clock.hpp"
#include "harness/quota.hpp"

namespace assay::check {

// See Quiet in src/assay/check/model.py.
struct Quiet {
  double others = 0.0;
  double steal = 0.0;
  double held_back = 0.0;
  std::optional<double> throttled;
};

// Ticks that some CPUs were busy, and ticks that the hypervisor withheld, from the text of
// /proc/stat. CPUs that it doesn't list count as idle.
struct CpuTicks {
  double busy = 0.0;
  double steal = 0.0;
};
CpuTicks ticks_of(const std::string& stat, const std::set<int>& cpus);

class QuietWatch {
 public:
  // Watches the CPUs of these cores and those that share a core or a cache with them.
  explicit QuietWatch(const Machine& machine);
  ~QuietWatch();
  QuietWatch(const QuietWatch&) = delete;
  QuietWatch& operator=(const QuietWatch&) = delete;

  void begin() { before_ = read(); }
  // Since begin().
  Quiet end() const;

 private:
  struct Counts {
    CpuTicks cpus;
    double own = 0.0;  // s, of this process
    double held_back = 0.0;
    std::optional<double> throttled;
    Ticks time = 0;
  };

  Counts read() const;

  std::set<int> cpus_;
  int stat_ = -1;
  std::vector<int> throttle_;
  CpuQuota quota_;
  Counts before_;
};

}  // namespace assay::check
