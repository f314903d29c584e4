// The devices of this machine, and which of them a rank uses.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/backends.hpp"
#include "device/device.hpp"
#include "harness/kernel.hpp"

namespace assay::device {

// A device that a rank uses, and what chose it.
struct Chosen {
  std::unique_ptr<Backend> backend;  // outlives the device
  std::unique_ptr<Device> device;
  int place = 0;  // among the backend's devices

  // Facts for the record of a measurement.
  std::map<std::string, Value> facts() const;
  // Its address on the PCI bus, if there is a device and it has one.
  std::vector<std::string> addresses() const;
};

// The parameters "backend" and "device" of a kernel.
class Choice {
 public:
  Choice() = default;
  // Reads them: `backend` is one of the names or "auto", `device` a number or -1: the rank's place
  // on its node, or among the devices that the placement gives to its ranks.
  Choice(const Context& context, Parameters& parameters);

  // Opens the device of this rank, and records backend and device in the parameters. Throws
  // DeviceError if there is none, with what each backend lacks.
  Chosen open();

 private:
  int place_ = 0;  // of the rank's device, unless one is named
  int local_size_ = 1;
  Parameters* parameters_ = nullptr;
  std::string backend_;
  std::int64_t device_ = -1;
};

}  // namespace assay::device
