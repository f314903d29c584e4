// Covariates: quantities observed around a measurement that may explain its variation.
#pragma once

#include <sys/resource.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/energy.hpp"
#include "harness/layout.hpp"
#include "harness/quota.hpp"
#include "harness/thread_times.hpp"

namespace assay {

// How the values of the ranks (or nodes) are combined: their sum, minimum or maximum.
enum class Combine { kSum, kMin, kMax };

// Who reads a covariate: every rank, the first rank of each node, the first rank of each machine,
// or the first rank of each device (DeviceWatch; only measurements of devices have these). Nodes
// may share a machine (containers, virtual clusters of namespaces): its kernel's counters are then
// the same on all of them and are summed once.
enum class Reader { kRank, kNode, kMachine, kDevice };

struct CovariateMeaning {
  const char* name;
  const char* unit;
  Combine combine;
  Reader reader;
  const char* meaning;
};

// The table of covariates; `assay-kernels --covariates` prints it.
const std::vector<CovariateMeaning>& covariate_meanings();

// Reads the covariates before and after the samples are taken. Files are opened once per launch.
class Covariates {
 public:
  // Collective over `comm`, which must outlive it.
  Covariates(MPI_Comm comm, const Layout& layout);
  ~Covariates();
  Covariates(const Covariates&) = delete;
  Covariates& operator=(const Covariates&) = delete;

  // Bytes of available memory on the node with the least. Collective.
  std::size_t memory_available() const;

  void begin();
  void end();

  // Collective; the values on rank 0, an empty map elsewhere. What can't be read has no value.
  std::map<std::string, std::optional<double>> combined() const;

 private:
  struct Reading;
  Reading read() const;
  std::map<std::string, std::optional<double>> own() const;
  std::optional<double> foremost_rank(const std::map<std::string, std::optional<double>>& values,
                                      const char* name) const;

  MPI_Comm comm_;
  bool leader_;
  bool first_of_machine_;
  int stat_ = -1;
  int load_ = -1;
  int snmp_ = -1;
  int memory_ = -1;
  int frequency_ = -1;
  std::array<int, 3> pressure_{-1, -1, -1};  // of CPUs, memory, devices
  std::vector<int> throttle_;
  // CPUs that share a core or a cache with the CPUs of this node's ranks; nothing if ranks may move
  // between CPUs.
  std::optional<std::set<int>> neighbours_;
  ThreadTimes threads_;
  CpuQuota quota_;
  std::optional<EnergyCounters> energy_;  // of the node, read by its first rank

  struct Reading {
    std::optional<double> steal, busy, cpus, neighbours, interrupts, load, retransmits, throttles,
        memory, swapped, quota, frequency, clock_rate, memory_latency;
    std::array<std::optional<double>, 3> pressure;
    ThreadTimes::Reading threads;
    std::vector<double> energy;
    rusage usage{};
    Ticks time = 0;
  };
  Reading before_;
  Reading after_;
};

}  // namespace assay
