// The share of the CPUs that a control group may use (containers, batch systems): how long a rank's
// group was held back because it was used up.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// The folders of the control groups that hold a process's CPU time down, its own first, then the
// ones around it: of the texts of its /proc/self/cgroup and /proc/self/mountinfo (cgroups(7),
// proc_pid_mountinfo(5)). Empty where no such hierarchy is mounted.
std::vector<std::string> cpu_groups(const std::string& cgroup, const std::string& mountinfo);

// Counters of those groups that have a limit; the others can't hold anything back, and reading
// their counters makes the system add them up over all CPUs.
class CpuQuota {
 public:
  CpuQuota();  // of this process
  explicit CpuQuota(const std::vector<std::string>& groups);
  ~CpuQuota();
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  // Seconds that the groups were held back so far, added up over CPUs; 0 where there is no limit,
  // nothing where that can't be told.
  std::optional<double> held_back() const;

 private:
  void open_limited(const std::vector<std::string>& groups);

  bool known_ = false;
  std::vector<int> files_;
};

}  // namespace assay
