// Buffers, programs and queues of CUDA's and HIP's drivers.
#pragma once

#include <memory>
#include <string>

#include "device/device.hpp"
#include "device/driver_api.hpp"

namespace assay::device::driver {

std::unique_ptr<Buffer> allocate(const Api& api, std::size_t bytes);
std::unique_ptr<PinnedMemory> allocate_pinned(const Api& api, std::size_t bytes);
// A program of compiled code.
std::unique_ptr<Program> load(const Api& api, const std::string& code);
std::unique_ptr<Queue> open_queue(const Api& api);

}  // namespace assay::device::driver
