// The model problem of LU, BT and SP: its constants, and the exact solution that defines its
// forcing.
//
// Bailey et al., RNR-94-007, section 3: a system like the compressible Navier-Stokes equations in
// three dimensions, with a source term such that a given polynomial is its steady solution.
#pragma once

#include <array>

namespace assay::npb::cfd {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/cfd/constants.def"
#undef NPB_CONSTANT

using State = std::array<double, kComponents>;

// The report's c1 .. c5.
inline constexpr double kC1 = 1.4;
inline constexpr double kC2 = 0.4;
inline constexpr double kC3 = 0.1;
inline constexpr double kC4 = 1.0;
inline constexpr double kC5 = 1.4;

// Viscosity, and the factor of the gradient of the energy per mass.
inline constexpr double kViscosity = kC3 * kC4;
inline constexpr double kConduction = kC1 * kC5;

// Second differences of every component, along x, y and z (the report's dx1 .. dz5).
inline constexpr std::array<double, 3> kDiffusion{0.75, 0.75, 1.0};

// Fourth differences: a quarter of the greatest of those.
inline constexpr double kDissipation = 0.25;

// The exact solution at a point of the unit cube: constant, then for each power 1 .. 4 the
// coefficients of x, y and z. RNR-94-007, table 3.1.
inline constexpr std::array<std::array<double, 13>, kComponents> kExact{{
    {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
    {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
    {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
    {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
}};

constexpr State exact_solution(double x, double y, double z) {
  State state{};
  for (int m = 0; m < kComponents; ++m) {
    const auto& c = kExact[static_cast<std::size_t>(m)];
    state[static_cast<std::size_t>(m)] = c[0] + x * (c[1] + x * (c[4] + x * (c[7] + x * c[10]))) +
                                         y * (c[2] + y * (c[5] + y * (c[8] + y * c[11]))) +
                                         z * (c[3] + z * (c[6] + z * (c[9] + z * c[12])));
  }
  return state;
}

}  // namespace assay::npb::cfd
