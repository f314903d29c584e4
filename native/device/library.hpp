// A shared library that is loaded at run time.
#pragma once

#include <string>
#include <vector>

#include "device/device.hpp"

namespace assay::device {

class Library {
 public:
  // Loads the first of these files that there is: where the loader looks, or in a folder that the
  // environment variable ASSAY_DEVICE_LIBRARIES lists. Throws DeviceError with `missing` if there
  // is none: it says what the library is and what brings it.
  Library(const std::vector<std::string>& files, const std::string& missing);

  // Sets a pointer to a function of the library; throws DeviceError if it lacks the function.
  template <typename F>
  void find(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol(name));
  }

  bool has(const char* name) const;

 private:
  void* symbol(const char* name) const;

  void* handle_ = nullptr;  // never closed: drivers don't survive it
  std::string file_;
};

}  // namespace assay::device
