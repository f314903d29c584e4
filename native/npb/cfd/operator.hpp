// The discrete operator of the model problem, for LU's, BT's and SP's right-hand sides alike.
//
// R(u) = sum over the three directions of
//     - D0 E(u)              central differences of the inviscid fluxes
//     + D+D- d u             diffusion of every component
//     + D+D- V(u)            central second differences of velocities and energy: viscous terms
//     - e D4 u               fourth-order dissipation, one-sided next to the boundary
// (RNR-94-007, 3.2 and 3.3). The problem solved is du/dt = R(u) - R(exact solution).
#pragma once

#include <vector>

#include "npb/cfd/field.hpp"

namespace assay::npb::cfd {

// Local indices [begin, end).
struct Range {
  int begin;
  int end;
};

// What depends on the block alone; shared by all threads.
class Operator {
 public:
  explicit Operator(const Block& block);

  const Block& block() const { return block_; }

 private:
  friend class OperatorWalk;

  Block block_;
  // Of each point along x, y and z: the dissipation's coefficients at -2 .. 2; all 0 on the
  // boundary. Along x as five arrays.
  std::array<std::vector<std::array<double, 5>>, 3> dissipation_;
  std::array<std::vector<double>, 5> dissipation_x_;
  std::vector<double> inside_x_;  // 1 inside, 0 on the boundary
};

// One thread's passage through planes of increasing z, for some rows of the block. Each point's
// velocities, pressure and energies are computed once and kept for three planes.
class OperatorWalk {
 public:
  // Rows within the block's own; those on the boundary are left out by itself.
  OperatorWalk(const Operator& of, Range rows);

  // Ready for plane z next. u must have its ghosts.
  void begin(const Field& u, int z);

  // result = scale (R(u) + forcing) on the rows inside the cube of plane z, points on the x
  // boundary set to 0; nullptr: no forcing. Planes must follow each other since begin(). Planes and
  // rows on the boundary of the cube are not written: they stay 0 in a field of zeros.
  void plane(const Field& u, const Field* forcing, double scale, Field& result, int z);

  // Bytes that a walk allocates.
  static double bytes(const Block& block, Range rows);

 private:
  struct Primitives;  // rows of one plane

  void fill(const Field& u, int z);

  const Operator& operator_;
  Range rows_;
  std::ptrdiff_t row_;       // from one row of a plane of primitives to the next
  std::ptrdiff_t quantity_;  // from one quantity to the next
  HugeArray<double> planes_;
  int next_ = 0;
};

// All planes inside the cube, for the rows and planes given, by one thread: a walk from end to end.
void apply(const Operator& of, const Field& u, const Field* forcing, double scale, Field& result,
           Range rows, Range planes);

}  // namespace assay::npb::cfd
