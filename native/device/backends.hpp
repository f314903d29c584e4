// The backends by their names. Without MPI.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace assay::device {

// Names of the backends, in the order in which "auto" tries them.
const std::vector<std::string>& backend_names();

// The backend of that name, or the first one that has devices for "auto". Throws DeviceError, for
// "auto" with what each backend lacks.
std::unique_ptr<Backend> load_backend(const std::string& name);

}  // namespace assay::device
