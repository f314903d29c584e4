// Where the accelerators of this node are: the files of the PCI bus. No library is loaded.
#pragma once

#include <string>
#include <vector>

namespace assay {

// A device on the bus, in the order of addresses.
struct DevicePlace {
  std::string address;
  int numa = -1;          // -1: unknown, as on machines with one NUMA node
  std::vector<int> cpus;  // near it; empty if unknown
};

// The accelerators below this folder: display and 3D controllers and processing accelerators that
// are bound to nvidia's driver; without any to amdgpu; without any to Intel's.
std::vector<DevicePlace> device_places(const std::string& folder = "/sys/bus/pci/devices");

// The CPUs near the device at that address; empty if they are unknown.
std::vector<int> cpus_near_device(const std::string& address,
                                  const std::string& folder = "/sys/bus/pci/devices");

// The devices that remain if a variable such as CUDA_VISIBLE_DEVICES holds this text: numbers in
// the order in which programs see them, up to the first invalid one, as CUDA reads it. KernelError
// for names of devices, which only their library can resolve.
std::vector<DevicePlace> visible_devices(const std::vector<DevicePlace>& places,
                                         const std::string& text);

}  // namespace assay
