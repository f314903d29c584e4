// EP's problem classes: sizes and official verification values.
#pragma once

#include <string_view>

#include "npb/common/classes.hpp"

namespace assay::npb {

// 2^log2_pairs pairs; the sums of the accepted Gaussian deviates.
struct EpClass {
  std::string_view name;
  int log2_pairs;
  double sum_x;
  double sum_y;
};

inline constexpr EpClass kEpClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/ep/classes.def"
#undef NPB_CLASS
};

// The official check: relative error of both sums.
inline constexpr double kEpTolerance = 1e-8;

}  // namespace assay::npb
