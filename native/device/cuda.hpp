// Devices by CUDA's driver interface, with kernels compiled by NVRTC.
#pragma once

#include <memory>

#include "device/device.hpp"

namespace assay::device::cuda {

// Loads driver and compiler. Throws DeviceError if one of them is missing or there is no device.
std::unique_ptr<Backend> load();

}  // namespace assay::device::cuda
