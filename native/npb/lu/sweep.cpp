#include "npb/lu/sweep.hpp"

#include <algorithm>
#include <array>

#include "npb/lu/classes.hpp"
#include "npb/lu/lane_tiles.hpp"

namespace assay::npb {
namespace {

using cfd::kComponents;

constexpr std::ptrdiff_t kStepSize = kComponents * kLanes;  // doubles

// A vector for each component.
struct Sums {
  Doubles m[kComponents];
};

ASSAY_LANES_INLINE Sums load_sums(const double* from) {
  Sums sums;
#pragma GCC unroll 5
  for (int m = 0; m < kComponents; ++m) sums.m[m] = load(from + m * kLanes);
  return sums;
}

ASSAY_LANES_INLINE void store_sums(double* to, const Sums& sums) {
#pragma GCC unroll 5
  for (int m = 0; m < kComponents; ++m) store(to + m * kLanes, sums.m[m]);
}

// One point in each lane. `sum`: contribution of its three neighbours. Lower: v is dt R on entry
// and solved on exit. Upper: v is the lower sweep's on entry and corrected on exit. `to`:
// contributions to the neighbours in x, y, z.
template <bool kUpper>
ASSAY_LANES_INLINE void solve(const LuCoefficients& c, const Doubles u[kComponents],
                              const Sums& sum, Doubles v[kComponents], Sums to[3]) {
  // One division for three: 1/rho, 1/(diagonal + viscous/rho), 1/(diagonal + conductive/rho).
  const Doubles of_momenta = c.diagonal * u[0] + c.viscous;
  const Doubles of_energy = c.diagonal * u[0] + c.conductive;
  const Doubles product = of_momenta * of_energy;
  const Doubles one_of_all = 1.0 / (u[0] * product);
  const Doubles inverse = one_of_all * product;
  const Doubles rho_of_all = one_of_all * u[0];
  const Doubles inverse_momenta = (u[0] * rho_of_all) * of_energy;
  const Doubles inverse_energy = (u[0] * rho_of_all) * of_momenta;

  Doubles velocity[3];
  Doubles squares{};
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) {
    velocity[d] = u[1 + d] * inverse;
    squares += velocity[d] * velocity[d];
  }
  const Doubles energy = u[4] * inverse;  // per mass

  // The diagonal block, in the variables g_m = v_m - (u_m / rho) v_0.
  Doubles b[kComponents];
#pragma GCC unroll 5
  for (int m = 0; m < kComponents; ++m) b[m] = kUpper ? sum.m[m] : v[m] + sum.m[m];
  Doubles v0 = b[0] * (1.0 / c.diagonal);
  Doubles g[3];
  Doubles work{};  // sum of velocities times g
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) {
    g[d] = (b[1 + d] - velocity[d] * b[0]) * inverse_momenta;
    work += velocity[d] * g[d];
  }
  Doubles heat = (b[4] - energy * b[0] - (c.kinetic * inverse) * work) * inverse_energy;
  if constexpr (kUpper) {
    const Doubles before = v[0];
    v0 += before;
#pragma GCC unroll 3
    for (int d = 0; d < 3; ++d) {
      const Doubles more = v[1 + d] - velocity[d] * before;
      g[d] += more;
      work += velocity[d] * more;
    }
    heat += v[4] - energy * before;
  }
  v[0] = v0;
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) v[1 + d] = g[d] + velocity[d] * v0;
  v[4] = heat + energy * v0;

  // Derivatives along v: of velocities, pressure, viscous energy.
  Doubles slope[3];
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) slope[d] = g[d] * inverse;
  const Doubles pressure_slope = cfd::kC2 * (heat - work + (energy - 0.5 * squares) * v0);
  const Doubles enthalpy_slope = v[4] + pressure_slope;
  const Doubles enthalpy = u[4] + cfd::kC2 * (u[4] - 0.5 * (squares * u[0]));
  const Doubles viscous_energy =
      (c.viscosity * inverse) * ((1.0 - cfd::kConduction) * work + cfd::kConduction * heat);
  const double convection = kUpper ? -c.convection : c.convection;
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) {
    const Doubles flow = convection * v[1 + d];
    const Doubles through = convection * u[1 + d];
    to[d].m[0] = flow + c.diffusion[d] * v0;
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      Doubles each = flow * velocity[k] + through * slope[k] + c.diffusion[d] * v[1 + k];
      if (k == d) {
        each += convection * pressure_slope + (4.0 / 3.0 * c.viscosity) * slope[k];
      } else {
        each += c.viscosity * slope[k];
      }
      to[d].m[1 + k] = each;
    }
    const Doubles speed = convection * velocity[d];
    to[d].m[4] = speed * enthalpy_slope + (convection * enthalpy) * slope[d] +
                 c.diffusion[d] * v[4] +
                 (viscous_energy + (c.viscosity / 3.0) * (velocity[d] * slope[d]));
  }
}

Words lane_numbers() {
  Words lanes;
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = static_cast<std::uint64_t>(lane);
  return lanes;
}

int whole_tiles(int steps) { return (steps + kLanes - 1) / kLanes * kLanes; }

int steps_of(LuPart part) { return whole_tiles(count(part.x) + kLanes - 1); }

int groups_of(LuPart part) { return (count(part.rows) + kLanes - 1) / kLanes; }

}  // namespace

LuCoefficients::LuCoefficients(int points, double time_step) {
  const double h = 1.0 / (points - 1);
  const double second = time_step / (h * h);
  const double nu = cfd::kViscosity;
  diagonal = 1.0;
  for (int d = 0; d < 3; ++d) {
    diagonal += 2.0 * second * cfd::kDiffusion[d];
    diffusion[d] = kLuOmega * second * cfd::kDiffusion[d];
  }
  viscous = 2.0 * second * nu * (4.0 / 3.0 + 2.0);
  conductive = 2.0 * second * nu * 3.0 * cfd::kConduction;
  kinetic = viscous - conductive;
  convection = kLuOmega * time_step / (2.0 * h);
  viscosity = kLuOmega * second * nu;
  update = 1.0 / (kLuOmega * (2.0 - kLuOmega));
}

LuSweep::LuSweep(const LuCoefficients& coefficients, LuPart part)
    : coefficients_(coefficients),
      part_(part),
      to_next_plane_(static_cast<std::size_t>(groups() * steps() * kStepSize)),
      to_next_rows_(static_cast<std::size_t>((steps() + kLanes) * kStepSize)) {}

int LuSweep::steps() const { return steps_of(part_); }
int LuSweep::groups() const { return groups_of(part_); }

void LuSweep::begin() {
  std::fill_n(to_next_plane_.data(), to_next_plane_.size(), 0.0);
  std::fill_n(to_next_rows_.data(), to_next_rows_.size(), 0.0);
}

// In step s of a group its row l is at point number s - l, counted in the sweep's direction. If
// that isn't a point of the part, the lane computes on arbitrary memory content; nothing of it is
// stored in a field, and its contributions go to lanes that aren't points either, except at the
// first point of a row, which gets the sums from outside instead.
template <bool kUpper>
void LuSweep::sweep(const double* u_in, double* u_out, const double* v_in, double* v_out,
                    const cfd::Layout& layout, int z, const LuEdges& edges) {
  const LuCoefficients& c = coefficients_;
  const int length = count(part_.x);
  const int rows = count(part_.rows);
  if (length == 0 || rows == 0) return;
  const int tiles_end = steps();
  const Words lanes = lane_numbers();
  double* const next_rows = to_next_rows_.data();

  // The rows before the first are handled as the last lane of a group.
  for (int i = 0; i < length; ++i) {
    const int point = kUpper ? length - 1 - i : i;
    for (int m = 0; m < kComponents; ++m) {
      next_rows[(i + kLanes - 1) * kStepSize + m * kLanes + kLanes - 1] =
          edges.in_y == nullptr ? 0.0 : edges.in_y[m * length + point];
    }
  }

  for (int group = 0; group < groups(); ++group) {
    const int row_count = std::min(kLanes, rows - group * kLanes);
    double* const next_plane = to_next_plane_.data() + group * tiles_end * kStepSize;
    const auto row_of = [&](int lane) {
      const int row = group * kLanes + std::min(lane, row_count - 1);
      return kUpper ? part_.rows.end - 1 - row : part_.rows.begin + row;
    };
    // Memory offset of lane l's tile of steps 0 .. kLanes - 1.
    std::array<std::ptrdiff_t, kLanes> first;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int x = kUpper ? part_.x.end - kLanes + lane : part_.x.begin - lane;
      first[lane] = layout.origin + z * layout.plane + row_of(lane) * layout.row + x;
    }
    Sums before{};  // of lane l: contribution to the row's first point
    if (edges.in_x != nullptr) {
      for (int m = 0; m < kComponents; ++m) {
        for (int lane = 0; lane < row_count; ++lane) {
          before.m[m][lane] = edges.in_x[m * edges.rows + row_of(lane) - edges.first_row];
        }
      }
    }
    // From these rows to those of the next group, or of the next plane's first.
    const std::ptrdiff_t next_group =
        group + 1 < groups()
            ? kLanes * layout.row
            : layout.plane - static_cast<std::ptrdiff_t>(group) * kLanes * layout.row;
    Sums to[3] = {before, {}, {}};

    for (int tile = 0; tile < tiles_end; tile += kLanes) {
      const std::ptrdiff_t moved = kUpper ? -tile : tile;
      Doubles u[kComponents][kLanes];
      Doubles v[kComponents][kLanes];
#pragma GCC unroll 5
      for (int m = 0; m < kComponents; ++m) {
        const std::ptrdiff_t from = m * layout.component + moved;
#pragma GCC unroll 8
        for (int lane = 0; lane < kLanes; ++lane) u[m][lane] = load(u_in + from + first[lane]);
        transpose(u[m]);
#pragma GCC unroll 8
        for (int lane = 0; lane < kLanes; ++lane) v[m][lane] = load(v_in + from + first[lane]);
        transpose(v[m]);
        if constexpr (kUpper) {
          // From memory, in reverse order: hardware prefetching doesn't handle that. (The lower
          // sweep finds in cache what the right-hand side has just used.)
#pragma GCC unroll 8
          for (int lane = 0; lane < kLanes; ++lane) {
            __builtin_prefetch(u_in + from + first[lane] - next_group, 0, 2);
            __builtin_prefetch(v_in + from + first[lane] - next_group, 0, 2);
          }
        }
      }
      for (int t = 0; t < kLanes; ++t) {
        const int step = tile + t;
        const int at = kUpper ? kLanes - 1 - t : t;  // in the tile
        double* const plane_sums = next_plane + step * kStepSize;
        double* const row_sums = next_rows + step * kStepSize;
        Sums sum = load_sums(plane_sums);
        const Sums last_rows = load_sums(row_sums + (kLanes - 1) * kStepSize);
        Doubles u_point[kComponents];
        Doubles v_point[kComponents];
#pragma GCC unroll 5
        for (int m = 0; m < kComponents; ++m) {
          sum.m[m] += follow(last_rows.m[m], to[1].m[m]);
          sum.m[m] += to[0].m[m];
          u_point[m] = u[m][at];
          v_point[m] = v[m][at];
        }
        solve<kUpper>(c, u_point, sum, v_point, to);
        store_sums(plane_sums, to[2]);
        store_sums(row_sums, to[1]);
#pragma GCC unroll 5
        for (int m = 0; m < kComponents; ++m) {
          if constexpr (kUpper) {
            u[m][at] += c.update * v_point[m];
          } else {
            v[m][at] = v_point[m];
          }
        }
        if (tile == 0) {
          const Mask begun = lanes <= static_cast<std::uint64_t>(t);
          for (int m = 0; m < kComponents; ++m) {
            to[0].m[m] = begun ? to[0].m[m] : before.m[m];
          }
        }
        if (edges.out_x != nullptr && step >= length - 1 && step < length - 1 + row_count) {
          const int lane = step - (length - 1);
          for (int m = 0; m < kComponents; ++m) {
            edges.out_x[m * edges.rows + row_of(lane) - edges.first_row] = to[0].m[m][lane];
          }
        }
      }
      double* const out = kUpper ? u_out : v_out;
#pragma GCC unroll 5
      for (int m = 0; m < kComponents; ++m) {
        Doubles* const result = kUpper ? u[m] : v[m];
        transpose(result);
        const std::ptrdiff_t base = m * layout.component + moved;
        if (row_count == kLanes && tile >= kLanes && tile + kLanes <= length) {
#pragma GCC unroll 8
          for (int lane = 0; lane < kLanes; ++lane) {
            store(out + base + first[lane], result[lane]);
          }
        } else {
          for (int lane = 0; lane < row_count; ++lane) {
            // Steps of the tile that are points of this row: [begin, end).
            const int begin = std::clamp(lane - tile, 0, kLanes);
            const int end = std::clamp(length + lane - tile, 0, kLanes);
            if (begin >= end) continue;
            store_lanes(out + base + first[lane], result[lane], kUpper ? kLanes - end : begin,
                        kUpper ? kLanes - begin : end);
          }
        }
      }
    }
  }
  if (edges.out_y == nullptr) return;
  const int last = (rows - 1) % kLanes;
  for (int i = 0; i < length; ++i) {
    const int point = kUpper ? length - 1 - i : i;
    for (int m = 0; m < kComponents; ++m) {
      edges.out_y[m * length + point] = next_rows[(i + last) * kStepSize + m * kLanes + last];
    }
  }
}

void LuSweep::lower(const cfd::Field& u, cfd::Field& v, int z, const LuEdges& edges) {
  sweep<false>(u.data(), nullptr, v.data(), v.data(), u.layout(), z, edges);
}

void LuSweep::upper(cfd::Field& u, const cfd::Field& v, int z, const LuEdges& edges) {
  sweep<true>(u.data(), u.data(), v.data(), nullptr, u.layout(), z, edges);
}

}  // namespace assay::npb
