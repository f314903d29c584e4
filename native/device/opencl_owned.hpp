// Errors of OpenCL, and what is released when it is no longer needed.
#pragma once

#include <string>
#include <utility>

#include "device/device.hpp"
#include "device/opencl_api.hpp"

namespace assay::device::opencl {

inline void check(Int code, const std::string& doing) {
  if (code == kSuccess) return;
  throw DeviceError(doing + " failed: OpenCL says " + error_name(code) + " (" +
                    std::to_string(code) + ")");
}

// What is released with a function of the library when it is no longer needed.
class Owned {
 public:
  Owned() = default;
  Owned(Handle handle, Int (*release)(Handle)) : handle_(handle), release_(release) {}
  ~Owned() { reset(); }
  Owned(Owned&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
      release_ = other.release_;
    }
    return *this;
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  void reset() {
    if (handle_ != nullptr) release_(handle_);
    handle_ = nullptr;
  }

  Handle handle_ = nullptr;
  Int (*release_)(Handle) = nullptr;
};

}  // namespace assay::device::opencl
