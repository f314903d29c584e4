// What a measurement says, and that it can't be carried out. Without MPI.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>

namespace assay {

using Value = std::variant<std::int64_t, double, std::string>;

// Thrown if this measurement can't be carried out (a wrong parameter, too little memory). Becomes a
// record with status "failed"; the job continues.
class KernelError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace assay
