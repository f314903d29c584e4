// CPU quotas of control groups (containers, batch systems): how long a rank's group was throttled
// because its quota was used up.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// The folders of the control groups that limit a process's use of a resource ("cpu", "memory"), its
// own first, then the enclosing ones: from the texts of its /proc/self/cgroup and
// /proc/self/mountinfo (cgroups(7), proc_pid_mountinfo(5)). Empty if no such hierarchy is mounted.
std::vector<std::string> groups_of(const std::string& controller, const std::string& cgroup,
                                   const std::string& mountinfo);

// Those that limit its CPU time.
std::vector<std::string> cpu_groups(const std::string& cgroup, const std::string& mountinfo);

// Counters of the groups with a limit; the others can't throttle, and reading their counters makes
// the system add them up over all CPUs.
class CpuQuota {
 public:
  CpuQuota();  // of this process
  explicit CpuQuota(const std::vector<std::string>& groups);
  ~CpuQuota();
  CpuQuota(const CpuQuota&) = delete;
  CpuQuota& operator=(const CpuQuota&) = delete;

  // Seconds that the groups were throttled so far, added up over CPUs; 0 without a limit, nothing
  // if it can't be determined.
  std::optional<double> held_back() const;

 private:
  void open_limited(const std::vector<std::string>& groups);

  bool known_ = false;
  std::vector<int> files_;
};

}  // namespace assay
