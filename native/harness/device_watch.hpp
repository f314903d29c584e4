// Watches the accelerators of a measurement while its samples are taken.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/device_state.hpp"
#include "harness/values.hpp"

namespace assay {

// A reading and when it was made, s of the monotonic clock.
struct TimedReading {
  double time = 0.0;
  DeviceReading reading;
};

// What the readings of a device say of the samples between the first and the last of them.
struct DeviceCourse {
  std::optional<double> clock, memory_clock, power;  // means
  std::optional<double> temperature;                 // the greatest
  std::optional<double> throttled;                   // share of the readings
  std::optional<double> errors;                      // difference
  std::optional<double> energy, energy_error;        // J
  bool counted = false;  // whether the device counted its energy, else it is integrated power
  std::uint64_t reasons = 0;
};

// The first reading is made before the samples begin and the last after their end. Levels come
// from the readings between them, or from the last one without any: it follows the samples at once.
DeviceCourse course_of(const std::vector<TimedReading>& readings);

// A thread reads the devices of this rank that no rank before it watches. It begins a reading at
// most every 100 ms, and reads for at most a hundredth of the time. A driver that hangs makes
// values unknown and holds nothing up.
class DeviceWatch {
 public:
  // Collective. `addresses`: of the devices that this rank uses, on the PCI bus; `cpus`: the
  // rank's.
  DeviceWatch(MPI_Comm comm, const std::vector<std::string>& addresses,
              const std::vector<int>& cpus);
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Returns after the first reading.
  void begin();
  // Returns after the last reading.
  void end();

  // Collective. Adds covariates and facts on rank 0; nothing if no rank has a device.
  void add_to(std::map<std::string, std::optional<double>>& covariates,
              std::map<std::string, Value>& facts) const;

 private:
  struct Shared;

  MPI_Comm comm_;
  bool any_ = false;                  // whether any rank has a device
  bool far_ = false;                  // whether a device of this rank is far from its CPUs
  std::vector<std::string> watched_;  // by this rank
  std::shared_ptr<Shared> shared_;
};

}  // namespace assay
