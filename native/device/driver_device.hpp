// Devices by CUDA's or HIP's driver, with kernels compiled at run time.
#pragma once

#include <memory>

#include "device/driver_api.hpp"

namespace assay::device::driver {

// The backend of a loaded driver. Throws DeviceError if it finds no device.
std::unique_ptr<Backend> backend_of(std::unique_ptr<Api> api);

}  // namespace assay::device::driver
