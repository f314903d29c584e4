// Faults that tests plant, to show that each check can fail. The shipped executable has no
// parameter "fault"; the code that plants faults is compiled out of it.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "harness/test_build.hpp"

namespace assay {

// One of the faults that a kernel's check must find, or none.
class PlantedFault {
 public:
  PlantedFault() = default;

  // Reads the parameter "fault": one of the names (literals), or "none". The shipped executable
  // doesn't read it, so that giving it is an error. A template, so that programs without MPI, which
  // have no such parameters, can use what has faults.
  template <class Parameters>
  PlantedFault([[maybe_unused]] Parameters& parameters,
               [[maybe_unused]] std::initializer_list<std::string_view> names) {
    if constexpr (kTestFaults) {
      std::vector<std::string> choices{"none"};
      choices.insert(choices.end(), names.begin(), names.end());
      const std::string chosen = parameters.choice("fault", "none", choices);
      for (const std::string_view name : names) {
        if (name == chosen) name_ = name;
      }
    }
  }

  bool is([[maybe_unused]] std::string_view name) const {
    if constexpr (kTestFaults) return name == name_;
    return false;
  }

 private:
  std::string_view name_;
};

// The environment variable by which a test plants a fault that is not a parameter; nullptr if it
// isn't set, and always in the shipped executable.
inline const char* planted_variable([[maybe_unused]] const char* name) {
  if constexpr (kTestFaults) return std::getenv(name);
  return nullptr;
}

}  // namespace assay
