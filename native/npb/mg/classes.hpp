// MG's problem classes: sizes and official verification values.
#pragma once

#include <string_view>

#include "npb/common/classes.hpp"
#include "npb/common/process_grid.hpp"

namespace assay::npb {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/mg/constants.def"
#undef NPB_CONSTANT

// A cube of 2^log2_extent points along each side, V-cycles, the smoother's coefficients, and the
// norm of the last residual: the square root of the mean square over all points.
struct MgClass {
  std::string_view name;
  int log2_extent;
  int cycles;
  double smoother[3];  // for a point itself, those one step away, those two steps away
  double norm;
};

inline constexpr MgClass kMgClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/mg/classes.def"
#undef NPB_CLASS
};

// The official check: relative error of the norm.
inline constexpr double kMgTolerance = 1e-8;

// The discrete Laplacian, for a point itself, those two steps away and those three steps away; the
// coefficient of direct neighbours is 0 (RNR-94-007, 2.2).
inline constexpr double kLaplacian[] = {-8.0 / 3, 1.0 / 6, 1.0 / 12};

}  // namespace assay::npb
