// BT's lines: block tridiagonal systems of 5x5 blocks, kLanes of them in parallel; one in plain
// code.
//
// Along one dimension the implicit operator of the Beam-Warming scheme is
//   I + dt ( D0 F(u) - D+D- (N(u) + d) )
// where F is the Jacobian of the inviscid flux and N that of the viscous one (RNR-94-007, 3.6). Row
// k of the system, unknown x_k at the point k:
//   L_{k-1} x_{k-1} + M_k x_k + U_{k+1} x_{k+1} = r_k
//   L = -(dt / 2h) F - (dt / h^2) (N + d),  U = (dt / 2h) F - (dt / h^2) (N + d),
//   M = 1 + 2 (dt / h^2) (N + d),
// each block computed from the state at its own point when it is needed, and not stored. Points on
// the boundary do not change: x = 0 there.
#pragma once

#include "npb/adi/lines.hpp"
#include "npb/bt/classes.hpp"

namespace assay::npb::cfd {

template <typename V>
class BlockTridiagonalOf : public LineValues<V> {
 public:
  using typename LineValues<V>::Doubles;
  using typename LineValues<V>::Lanes;
  using LineValues<V>::kLanes;
  using LineValues<V>::load;
  using LineValues<V>::broadcast;

  // Result of the elimination of a row: x_k + C_k x_{k+1} = q_k, stored as C by columns, then q.
  static constexpr int kColumns = kComponents * kComponents;
  static constexpr int kKept = kBtKept;
  static_assert(kKept == kColumns + kComponents);
  // Rows at the end of one rank's part of a line that the next rank needs.
  static constexpr int kHanded = kBtHanded;
  // Unknowns of its first rows that the part before it needs.
  static constexpr int kUnknowns = kHanded * kComponents;

  // `time_step` and the distance of grid points.
  BlockTridiagonalOf(int dimension, double time_step, double spacing)
      : convection_(time_step / (2.0 * spacing)),
        viscosity_(time_step / (spacing * spacing)),
        diffusion_(viscosity_ * kDiffusion[static_cast<std::size_t>(dimension)]) {}

  // Eliminates the part below the diagonal. kept: [row][vector][kKept][kLanes], one row every
  // `kept_row` elements; the row before the first is the one received from the rank before, or
  // zeros at the edge.
  template <int kDimension>
  void eliminate(const Lines& lines, double* kept, std::ptrdiff_t kept_row) const {
    constexpr auto c = along(kDimension);
    const double convection = lines.ascending ? convection_ : -convection_;
    for (int first = 0; first < lines.vectors; first += kTogether) {
      const int end = first + kTogether < lines.vectors ? first + kTogether : lines.vectors;
      Point points[kTogether][3];
      for (int v = first; v < end; ++v) {
        points[v - first][0] = point<c>(lines, -1, v);
        points[v - first][1] = point<c>(lines, 0, v);
      }
      int turn = 0;
      for (int k = 0; k < lines.rows; ++k) {
        for (int v = first; v < end; ++v) {
          Point* const three = points[v - first];
          const Point next = point<c>(lines, k + 1, v);
          double* const here = kept + k * kept_row + v * (kKept * kLanes);
          Doubles q[kComponents];
          for (int m = 0; m < kComponents; ++m) {
            q[m] = load(lines.rhs[static_cast<std::size_t>(c[static_cast<std::size_t>(m)])] +
                        k * lines.rhs_row + v * lines.vector);
          }
          eliminate_row(convection, three[turn], three[(turn + 1) % 3], next, q, here - kept_row,
                        here);
          three[(turn + 2) % 3] = next;
        }
        turn = (turn + 1) % 3;
      }
    }
  }

  // Where the two halves of a line meet: computes the unknowns of the other half's last row,
  // [vector] [component][kLanes], from both halves' last kept rows.
  static void meet(const double* mine, const double* theirs, std::ptrdiff_t, double* beyond,
                   int vectors) {
    for (int v = 0; v < vectors; ++v) {
      const double* const a = mine + v * (kKept * kLanes);
      const double* const b = theirs + v * (kKept * kLanes);
      // x + C y = q, y + D x = p: (I - D C) y = p - D q.
      Doubles matrix[kComponents][kComponents];
      Doubles y[kComponents];
      for (int i = 0; i < kComponents; ++i) {
        y[i] = load(b + (kColumns + i) * kLanes);
        for (int j = 0; j < kComponents; ++j) {
          const Doubles d = load(b + (j * kComponents + i) * kLanes);
          y[i] -= d * load(a + (kColumns + j) * kLanes);
        }
        for (int j = 0; j < kComponents; ++j) {
          matrix[i][j] = broadcast(i == j ? 1.0 : 0.0);
          for (int m = 0; m < kComponents; ++m) {
            matrix[i][j] -=
                load(b + (m * kComponents + i) * kLanes) * load(a + (j * kComponents + m) * kLanes);
          }
        }
      }
      Doubles inverse[kComponents];
      factor(matrix, inverse);
      solve<0>(matrix, inverse, y);
      for (int i = 0; i < kComponents; ++i) store(beyond + (v * kComponents + i) * kLanes, y[i]);
    }
  }

  // Solves backwards from the unknowns `beyond` the last row, as meet() yields them, or zeros at
  // the edge. Calls finish(k, v, x) with the unknowns of each row, by component. Those of the first
  // row are stored in `first_rows`, laid out as `beyond`, unless it is nullptr.
  template <int kDimension, typename Finish>
  static void substitute(const Lines& lines, const double* kept, std::ptrdiff_t kept_row,
                         const double* beyond, double* first_rows, const Finish& finish) {
    constexpr auto c = along(kDimension);
    for (int first = 0; first < lines.vectors; first += kTogether) {
      const int end = first + kTogether < lines.vectors ? first + kTogether : lines.vectors;
      Doubles x[kTogether][kComponents];
      for (int v = first; v < end; ++v) {
        for (int m = 0; m < kComponents; ++m) {
          x[v - first][m] = load(beyond + (v * kComponents + m) * kLanes);
        }
      }
      for (int k = lines.rows - 1; k >= 0; --k) {
        for (int v = first; v < end; ++v) {
          const double* const here = kept + k * kept_row + v * (kKept * kLanes);
          Doubles next[kComponents];
#pragma GCC unroll 5
          for (int i = 0; i < kComponents; ++i) {
            Doubles sum = load(here + (kColumns + i) * kLanes);
#pragma GCC unroll 5
            for (int j = 0; j < kComponents; ++j) {
              sum -= load(here + (j * kComponents + i) * kLanes) * x[v - first][j];
            }
            next[i] = sum;
          }
          Lanes change;
          for (std::size_t i = 0; i < kComponents; ++i) {
            x[v - first][i] = next[i];
            change[static_cast<std::size_t>(c[i])] = next[i];
          }
          finish(k, v, change);
        }
      }
      if (first_rows == nullptr) continue;
      for (int v = first; v < end; ++v) {
        for (int m = 0; m < kComponents; ++m) {
          store(first_rows + (v * kComponents + m) * kLanes, x[v - first][m]);
        }
      }
    }
  }

 private:
  // Vectors that are interleaved row by row, so that the latencies of one overlap with another.
  static constexpr int kTogether = kLanes > 1 ? 2 : 1;

  // State at a point from which the blocks are computed, `along` the line and across.
  struct Point {
    Doubles along, across1, across2;  // velocity
    Doubles kinetic;                  // energy per mass
    Doubles energy;                   // total energy per mass
    Doubles volume;                   // per mass
  };

  // RNR-94-007, 3.6: the coefficients in the viscous Jacobian.
  static constexpr double kShear = kViscosity;
  static constexpr double kNormal = 4.0 / 3.0 * kViscosity;
  static constexpr double kHeat = kConduction * kViscosity;

  template <std::array<int, kComponents> kOrder>
  static ASSAY_LANES_MEMBER Point point(const Lines& lines, int k, int v) {
    const std::ptrdiff_t at = k * lines.state_row + v * lines.vector;
    Point p;
    p.volume = 1.0 / load(lines.state[kOrder[0]] + at);
    p.along = load(lines.state[kOrder[1]] + at) * p.volume;
    p.across1 = load(lines.state[kOrder[2]] + at) * p.volume;
    p.across2 = load(lines.state[kOrder[3]] + at) * p.volume;
    p.energy = load(lines.state[kOrder[4]] + at) * p.volume;
    p.kinetic = 0.5 * (p.along * p.along + p.across1 * p.across1 + p.across2 * p.across2);
    return p;
  }

  // The entries of f F - g N - d I that differ from point to point; rows n, s, t, e for momentum
  // along and across and for energy, columns in the same way, r for density. Constant are (r, r) =
  // -d, (r, n) = f, (n, e) = f c2; the others are 0.
  struct Coupling {
    Doubles nr, sr, tr, er;
    Doubles nn, sn, tn, en;
    Doubles ns, ss, es;
    Doubles nt, tt, et;
    Doubles ee;
  };

  static ASSAY_LANES_MEMBER Coupling coupling(double f, double g, double d, const Point& p) {
    const Doubles thin = g * p.volume;
    const Doubles fast = f * p.along;
    const Doubles square = p.along * p.along;
    Coupling c;
    c.nr = f * (kC2 * p.kinetic - square) + kNormal * (thin * p.along);
    const Doubles drag = kShear * thin - fast;
    c.sr = drag * p.across1;
    c.tr = drag * p.across2;
    c.er = fast * (2.0 * kC2 * p.kinetic - kC1 * p.energy) +
           thin * ((2.0 * (kShear - kHeat)) * p.kinetic + (kNormal - kShear) * square +
                   kHeat * p.energy);
    c.nn = (2.0 - kC2) * fast - kNormal * thin - d;
    c.sn = f * p.across1;
    c.tn = f * p.across2;
    c.en = f * (kC1 * p.energy - kC2 * (p.kinetic + square)) - (kNormal - kHeat) * (thin * p.along);
    c.ns = -kC2 * c.sn;
    c.nt = -kC2 * c.tn;
    c.ss = fast - kShear * thin - d;
    c.tt = c.ss;
    const Doubles work = -kC2 * fast - (kShear - kHeat) * thin;
    c.es = work * p.across1;
    c.et = work * p.across2;
    c.ee = kC1 * fast - kHeat * thin - d;
    return c;
  }

  // In-place LU factorisation of a matrix, with the diagonal's reciprocals stored separately. No
  // pivoting: the time step keeps the matrix diagonally dominant.
  static ASSAY_LANES_MEMBER void factor(Doubles (&matrix)[kComponents][kComponents],
                                        Doubles (&inverse)[kComponents]) {
#pragma GCC unroll 5
    for (int p = 0; p < kComponents; ++p) {
      inverse[p] = 1.0 / matrix[p][p];
#pragma GCC unroll 5
      for (int i = p + 1; i < kComponents; ++i) {
        matrix[i][p] *= inverse[p];
#pragma GCC unroll 5
        for (int j = p + 1; j < kComponents; ++j) matrix[i][j] -= matrix[i][p] * matrix[p][j];
      }
    }
  }

  // In place; elements of x before kFirst are 0.
  template <int kFirst>
  static ASSAY_LANES_MEMBER void solve(const Doubles (&matrix)[kComponents][kComponents],
                                       const Doubles (&inverse)[kComponents],
                                       Doubles (&x)[kComponents]) {
#pragma GCC unroll 5
    for (int i = kFirst + 1; i < kComponents; ++i) {
#pragma GCC unroll 5
      for (int j = kFirst; j < i; ++j) x[i] -= matrix[i][j] * x[j];
    }
#pragma GCC unroll 5
    for (int i = kComponents - 1; i >= 0; --i) {
#pragma GCC unroll 5
      for (int j = i + 1; j < kComponents; ++j) x[i] -= matrix[i][j] * x[j];
      x[i] *= inverse[i];
    }
  }

  ASSAY_LANES_MEMBER void eliminate_row(double convection, const Point& before, const Point& here,
                                        const Point& after, Doubles (&q)[kComponents],
                                        const double* kept_before, double* kept) const {
    const double f = convection;
    const double g = viscosity_;
    const double d = diffusion_;
    Doubles matrix[kComponents][kComponents];
    {
      // M - L C: the diagonal's own entries first.
      const Doubles thin = 2.0 * g * here.volume;
      const double one = 1.0 + 2.0 * d;
      const Doubles slow = thin * here.along;
      const Doubles zero = broadcast(0.0);
      const Doubles shear = -kShear * thin;
      const Doubles own[kComponents][kComponents] = {
          {broadcast(one), -kNormal * slow, shear * here.across1, shear * here.across2,
           -thin * ((2.0 * (kShear - kHeat)) * here.kinetic +
                    (kNormal - kShear) * (here.along * here.along) + kHeat * here.energy)},
          {zero, one + kNormal * thin, zero, zero, (kNormal - kHeat) * slow},
          {zero, zero, one - shear, zero, (kShear - kHeat) * (thin * here.across1)},
          {zero, zero, zero, one - shear, (kShear - kHeat) * (thin * here.across2)},
          {zero, zero, zero, zero, one + kHeat * thin}};
      const Coupling low = coupling(-f, g, d, before);
      const auto subtract = [&](const double* column, Doubles& r, Doubles& n, Doubles& s,
                                Doubles& t, Doubles& e) __attribute__((always_inline)) {
        const Doubles cr = load(column);
        const Doubles cn = load(column + kLanes);
        const Doubles cs = load(column + 2 * kLanes);
        const Doubles ct = load(column + 3 * kLanes);
        const Doubles ce = load(column + 4 * kLanes);
        r = r + d * cr + f * cn;
        n = n - low.nr * cr - low.nn * cn - low.ns * cs - low.nt * ct + (kC2 * f) * ce;
        s = s - low.sr * cr - low.sn * cn - low.ss * cs;
        t = t - low.tr * cr - low.tn * cn - low.tt * ct;
        e = e - low.er * cr - low.en * cn - low.es * cs - low.et * ct - low.ee * ce;
      };
#pragma GCC unroll 5
      for (int j = 0; j < kComponents; ++j) {
        for (int i = 0; i < kComponents; ++i) matrix[i][j] = own[j][i];
        subtract(kept_before + j * kComponents * kLanes, matrix[0][j], matrix[1][j], matrix[2][j],
                 matrix[3][j], matrix[4][j]);
      }
      subtract(kept_before + kColumns * kLanes, q[0], q[1], q[2], q[3], q[4]);
    }
    Doubles inverse[kComponents];
    factor(matrix, inverse);
    const auto keep = [&](int column, const Doubles(&x)[kComponents]) {
      for (int i = 0; i < kComponents; ++i) store(kept + (column * kComponents + i) * kLanes, x[i]);
    };
    solve<0>(matrix, inverse, q);
    keep(kComponents, q);
    const Coupling up = coupling(f, g, d, after);
    const Doubles zero = broadcast(0.0);
    Doubles r_column[] = {broadcast(-d), up.nr, up.sr, up.tr, up.er};
    solve<0>(matrix, inverse, r_column);
    keep(0, r_column);
    Doubles n_column[] = {broadcast(f), up.nn, up.sn, up.tn, up.en};
    solve<0>(matrix, inverse, n_column);
    keep(1, n_column);
    Doubles s_column[] = {zero, up.ns, up.ss, zero, up.es};
    solve<1>(matrix, inverse, s_column);
    keep(2, s_column);
    Doubles t_column[] = {zero, up.nt, zero, up.tt, up.et};
    solve<1>(matrix, inverse, t_column);
    keep(3, t_column);
    Doubles e_column[] = {zero, broadcast(kC2 * f), zero, zero, up.ee};
    solve<1>(matrix, inverse, e_column);
    keep(4, e_column);
  }

  double convection_;
  double viscosity_;
  double diffusion_;
};

using BlockTridiagonal = BlockTridiagonalOf<Doubles>;
using PlainBlockTridiagonal = BlockTridiagonalOf<double>;

}  // namespace assay::npb::cfd
