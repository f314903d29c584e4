// The devices of this node: each is measured by a thread of its own, with a limit, so that one that
// hangs is named and holds up nothing else.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check/component.hpp"
#include "device/device.hpp"

namespace assay::check {

// The devices weren't ready in time, or didn't answer in time.
class LateError : public device::DeviceError {
 public:
  using DeviceError::DeviceError;
};

class Devices {
 public:
  // Opens all devices of a backend ("auto": of the first one that has any), compiles, and measures
  // each part once. Throws LateError after `ready` s, and DeviceError if one of them fails. A
  // device that takes `patience` s longer than it was asked to measure hangs; verifying takes less.
  Devices(const std::string& backend, double ready, double patience);
  ~Devices();
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  const std::vector<device::Info>& infos() const;
  static std::vector<std::string> components();

  // One value per device: B/s of the triad and of the link to the host, flop/s. Throws LateError if
  // a device doesn't answer, and DeviceError if one fails. No device can be used after that.
  Measured measure(std::string_view component, double seconds, const Fault& fault);

 private:
  struct Opened;
  std::shared_ptr<Opened> opened_;  // a thread that hangs outlives this
};

}  // namespace assay::check
