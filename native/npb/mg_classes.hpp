// MG's classes: sizes and official verification values (NPB 2 and 3 reports).
#pragma once

#include <string_view>

#include "npb/classes.hpp"

namespace assay::npb {

// A cube of 2^log2_extent points each way, V-cycles, the smoother's coefficients, and the norm of
// the last residual: the square root of the mean square over all points.
struct MgClass {
  std::string_view name;
  int log2_extent;
  int cycles;
  double smoother[3];  // for a point itself, those one step away, those two steps away
  double norm;
};

inline constexpr MgClass kMgClasses[] = {
    {"S", 5, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.5307707005734e-4},
    {"W", 7, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.6467329375339e-5},
    {"A", 8, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.2433365309069e-5},
    {"B", 8, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1800564401355e-5},
    {"C", 9, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.5706732285740e-6},
    {"D", 10, 50, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1583275060440e-9},
    {"E", 11, 50, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.5630442584711e-10},
};

// The official check: relative error of the norm.
inline constexpr double kMgTolerance = 1e-8;

// The discrete Laplacian, for a point itself, those two steps away and those three steps away;
// neighbours have no part in it (RNR-94-007, 2.2).
inline constexpr double kLaplacian[] = {-8.0 / 3, 1.0 / 6, 1.0 / 12};

}  // namespace assay::npb
