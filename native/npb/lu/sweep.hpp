// The triangular sweeps of LU's symmetric successive over-relaxation, a plane of one thread's rows
// at a time.
//
// With the operator linearised at u, a step of pseudo-time solves (D + w L) D^-1 (D + w U) v = dt
// R: the lower sweep is v <- D^-1 (dt R - w L v), points in ascending order; the upper one v <- v -
// D^-1 w U v, in descending order; then u <- u + v / (w (2 - w)) (RNR-94-007, 3.5).
//
// The blocks of L and U that couple a point to its neighbour are Jacobians at that neighbour's u.
// So a solved point contributes to each of its three dependent points a product of a Jacobian with
// its v, which is a derivative of the flux along v: no block is ever formed. In the variables v_m -
// (u_m / u_0) v_0 the diagonal block is triangular with two distinct entries.
//
// Lanes of a vector are consecutive rows, each one point behind the row before it, so that the
// neighbours in x and y of each point are already done.
#pragma once

#include <cstddef>

#include "compute/lanes.hpp"
#include "memory/huge_array.hpp"
#include "npb/cfd/field.hpp"
#include "npb/cfd/operator.hpp"

namespace assay::npb {

// Constants of the whole run.
struct LuCoefficients {
  LuCoefficients(int points, double time_step);

  double diagonal;    // 1 + dt times the diffusion's own
  double viscous;     // the viscous diagonal: of momenta,
  double kinetic;     // of energy through the velocities,
  double conductive;  // of energy
  double convection;  // w dt / 2h
  double viscosity;   // w dt nu / h^2
  double diffusion[3];
  double update;  // 1 / (w (2 - w))
};

// The part of a block that one thread sweeps: local indices of points inside the cube.
struct LuPart {
  cfd::Range x;
  cfd::Range rows;
};

// Contributions received from neighbours at one plane, and those to send: sums to be added to
// equations, five components; nullptr where there is none (in: the boundary of the cube; out: no
// receiver). Along x: [component][row], of the block's rows inside the cube, row 0 being
// `first_row`. Along y: [component][point], of the points inside the cube.
struct LuEdges {
  const double* in_x = nullptr;
  const double* in_y = nullptr;
  double* out_x = nullptr;
  double* out_y = nullptr;
  int first_row = 0;
  std::ptrdiff_t rows = 0;  // of the block, inside the cube
};

// One thread's working memory, and the sweeps.
class LuSweep {
 public:
  LuSweep(const LuCoefficients& coefficients, LuPart part);

  // Called before the first plane of a sweep in either direction.
  void begin();

  // On entry v holds dt R, on exit the lower sweep's v, in the part's rows of plane z.
  void lower(const cfd::Field& u, cfd::Field& v, int z, const LuEdges& edges);

  // A planted fault: convection wrong by a millionth.
  void spoil() { coefficients_.convection *= 1.000001; }

  // Solves upwards, from v of the lower sweep, and adds the correction to u. v doesn't change.
  void upper(cfd::Field& u, const cfd::Field& v, int z, const LuEdges& edges);

 private:
  template <bool kUpper>
  void sweep(const double* u_in, double* u_out, const double* v_in, double* v_out,
             const cfd::Layout& layout, int z, const LuEdges& edges);

  int steps() const;   // of a group of rows, rounded up to whole tiles
  int groups() const;  // of as many rows as a vector has lanes

  LuCoefficients coefficients_;
  LuPart part_;
  HugeArray<double> to_next_plane_;  // [group][step][component][lane]
  HugeArray<double> to_next_rows_;   // [step][component][lane], kLanes - 1 steps more
};

}  // namespace assay::npb
