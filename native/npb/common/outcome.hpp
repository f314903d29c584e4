// Deviation of a run of a benchmark from its official results.
#pragma once

#include <cmath>

#include "harness/worst_error.hpp"

namespace assay::npb {

inline double relative_error(double value, double official) {
  return std::fabs((value - official) / official);
}

}  // namespace assay::npb
