// The state of an accelerator while it is measured: clocks, power, heat and errors. It is read by
// the vendor's management library or the files of its driver, which no build needs. Nothing is
// changed on any device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace assay {

// One reading; nothing for what the device doesn't tell.
struct DeviceReading {
  std::optional<double> clock;         // Hz, of the multiprocessors
  std::optional<double> memory_clock;  // Hz
  std::optional<double> power;         // W
  std::optional<double> temperature;   // degrees Celsius
  std::optional<double> energy;        // J since some moment
  std::optional<double> errors;        // uncorrected errors of the memory since some moment
  // What lowers the clock, as NVML's bits of throttle reasons.
  std::optional<std::uint64_t> reasons;
};

// Bits of what takes speed away under load; an idle device and clocks that were set are none.
constexpr std::uint64_t kThrottling = 0x4 | 0x8 | 0x10 | 0x20 | 0x40 | 0x80;

// The names of the set bits of kThrottling: "power limit, temperature (hardware)".
std::string throttle_names(std::uint64_t reasons);

class DeviceState {
 public:
  virtual ~DeviceState() = default;
  virtual DeviceReading read() = 0;
  // Numbers of the driver's errors (XID) since the last call; nothing if the driver doesn't report
  // them.
  virtual std::optional<std::vector<int>> errors() { return std::nullopt; }
};

// The device at that address on the PCI bus ("0000:3b:00.0"); null if nothing tells its state. May
// hang if the driver does.
std::unique_ptr<DeviceState> find_device_state(const std::string& address);

// AMD's device, by the files of its driver below this folder; null if there is no monitor.
std::unique_ptr<DeviceState> device_state_by_files(const std::string& folder);

}  // namespace assay
