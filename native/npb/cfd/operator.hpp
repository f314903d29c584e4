// The discrete operator of the model problem, for the right-hand sides of LU, BT and SP.
//
// R(u) = sum over the three directions of
//     - D0 E(u)              central differences of the inviscid fluxes
//     + D+D- d u             diffusion of every component
//     + D+D- V(u)            central second differences of velocities and energy: viscous terms
//     - e D4 u               fourth-order dissipation, one-sided next to the boundary
// (RNR-94-007, 3.2 and 3.3). The problem solved is du/dt = R(u) - R(exact solution).
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "npb/cfd/field.hpp"

namespace assay::npb::cfd {

// Local indices [begin, end).
struct Range {
  int begin;
  int end;
};

inline int count(Range range) { return std::max(0, range.end - range.begin); }

// The part that depends only on the block; shared by all threads.
class Operator {
 public:
  explicit Operator(const Block& block);

  const Block& block() const { return block_; }

 private:
  friend class OperatorWalk;

  // Diffusion and dissipation together: coefficients of u at -2 .. 2 along one dimension.
  using Stencil = std::array<double, 2 * kGhosts + 1>;

  Block block_;
  std::array<std::vector<Stencil>, 2> across_;              // of each row, of each plane
  std::array<std::vector<double>, 2 * kGhosts + 1> along_;  // of each point of a row
  std::vector<double> inside_;  // of each point of a row: 1, or 0 on the boundary of the cube
};

// One thread's pass through planes of increasing z, for some rows of the block. Velocities,
// pressure and energy are computed once for each point and kept for three planes.
class OperatorWalk {
 public:
  // Rows within the block's own; those on the boundary of the cube are left out automatically.
  OperatorWalk(const Operator& of, Range rows);

  // Prepares for plane z, which is not on the boundary. u must have its ghosts.
  void begin(const Field& u, int z);

  // result = scale (R(u) + forcing) on the rows inside the cube of plane z, 0 at their ends on the
  // boundary; nullptr: no forcing. Planes must be consecutive from begin() on. Planes and rows on
  // the boundary are not written: they stay 0 in a field of zeros. u must not change at planes z -
  // 2 .. z + 2 as long as they are needed.
  void plane(const Field& u, const Field* forcing, double scale, Field& result, int z);

 private:
  static constexpr int kPlanes = 3;

  void fill(const Field& u, int z);
  // The first quantity at x = 0 of plane z.
  double* primitives(int z, int row);

  const Operator& operator_;
  Range rows_;               // inside the cube
  std::ptrdiff_t row_;       // from one row of a plane of primitives to the next, in elements
  std::ptrdiff_t quantity_;  // from one quantity to the next
  std::ptrdiff_t plane_;     // from one plane to the next
  HugeArray<double> planes_;
};

// Applies the operator to all given planes inside the cube, on one thread.
void apply(const Operator& of, const Field& u, const Field* forcing, double scale, Field& result,
           Range rows, Range planes);

}  // namespace assay::npb::cfd
