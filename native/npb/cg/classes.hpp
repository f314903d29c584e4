// CG's problem classes: sizes and official verification values.
#pragma once

#include <cstdint>
#include <string_view>

#include "npb/common/classes.hpp"

namespace assay::npb {

// Order of the matrix, nonzeros of each generating vector, outer iterations, eigenvalue shift.
struct CgClass {
  std::string_view name;
  std::int32_t order;
  int nonzeros;
  int iterations;
  double shift;
  double zeta;
};

inline constexpr CgClass kCgClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/cg/classes.def"
#undef NPB_CLASS
};

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/cg/constants.def"
#undef NPB_CONSTANT

// The official check: relative error of zeta.
inline constexpr double kCgTolerance = 1e-10;

}  // namespace assay::npb
