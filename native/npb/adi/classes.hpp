// A problem class of BT and SP.
#pragma once

#include <string_view>

#include "npb/cfd/model.hpp"
#include "npb/common/classes.hpp"

namespace assay::npb {

// Points along each side of the cube, time steps, their size; the root mean squares of residual and
// error after the last one.
struct AdiClass {
  std::string_view name;
  int points;
  int steps;
  double time_step;
  cfd::State residual;
  cfd::State error;
};

// The official check: relative error of all ten norms.
inline constexpr double kAdiTolerance = 1e-8;

}  // namespace assay::npb
