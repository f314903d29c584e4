// Devices by AMD's HIP, with kernels compiled by HIPRTC.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace assay::device::hip {

// Loads HIP and its compiler. Throws DeviceError if one of them is missing or there is no device.
std::unique_ptr<Backend> load();

}  // namespace assay::device::hip
