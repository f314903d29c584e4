// Devices by OpenCL 1.2 or later: any device, processors included.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace assay::device::opencl {

// Loads the library. Throws DeviceError if there is none or it has no device.
std::unique_ptr<Backend> load();

}  // namespace assay::device::opencl
