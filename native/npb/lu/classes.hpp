// LU's problem classes: sizes and official verification values.
#pragma once

#include <string_view>

#include "npb/cfd/model.hpp"
#include "npb/common/classes.hpp"
#include "npb/common/process_grid.hpp"

namespace assay::npb {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/lu/constants.def"
#undef NPB_CONSTANT

struct LuClass {
  std::string_view name;
  int points;  // along each side
  int steps;
  double time_step;
  cfd::State residual;  // root mean squares after the last step
  cfd::State error;
  double surface;  // integral of the pressure
};

inline constexpr LuClass kLuClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/lu/classes.def"
#undef NPB_CLASS
};

// The official check: relative error of each norm and of the integral.
inline constexpr double kLuTolerance = 1e-8;

// Over-relaxation.
inline constexpr double kLuOmega = 1.2;

}  // namespace assay::npb
