// FT's problem classes: sizes and official checksums.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "npb/common/classes.hpp"

namespace assay::npb {

inline constexpr int kFtMostIterations = 25;

struct FtChecksum {
  double re;
  double im;
};

// extents: of x, y and z; checksums: after each iteration.
struct FtClass {
  std::string_view name;
  std::array<std::uint32_t, 3> extents;
  int iterations;
  std::array<FtChecksum, kFtMostIterations> checksums;

  constexpr double points() const { return 1.0 * extents[0] * extents[1] * extents[2]; }
};

// The official check: relative error of every checksum, as a complex number.
inline constexpr double kFtTolerance = 1e-12;

inline constexpr FtClass kFtClasses[] = {
#define NPB_CLASS(...) {__VA_ARGS__},
#include "npb/ft/classes.def"
#undef NPB_CLASS
};

}  // namespace assay::npb
