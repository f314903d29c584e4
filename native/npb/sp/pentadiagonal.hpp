// SP's lines: scalar pentadiagonal systems, kLanes of them in parallel; one in plain code.
//
// SP diagonalises the implicit operator's inviscid part by the eigenvectors of the flux Jacobian
// (RNR-94-007, 3.7; Pulliam and Chaussee, J. Comput. Phys. 39, 1981): five scalar equations along
// each line, three with the velocity u as wave speed and one each with u + c and u - c. With the
// fourth-order dissipation on the implicit side, row k of one of them is
//   e x_{k-2} + (-a s_{k-1} - b d_{k-1} - 4e) x_{k-1} + (1 + 2 b d_k + 6e) x_k
//     + (a s_{k+1} - b d_{k+1} - 4e) x_{k+1} + e x_{k+2} = r_k
// with s the wave speed, a = dt / 2h, b = dt / h^2, e = dt times the dissipation and d a bound of
// the diffusion; 5e instead of 6e next to the boundary, where x is 0.
#pragma once

#include "npb/adi/lines.hpp"
#include "npb/sp/classes.hpp"

namespace assay::npb::cfd {

template <typename V>
class PentadiagonalOf : public LineValues<V> {
 public:
  using typename LineValues<V>::Doubles;
  using typename LineValues<V>::Lanes;
  using LineValues<V>::kLanes;
  using LineValues<V>::load;

  // Result of the elimination of a row: x_k + d x_{k+1} + e x_{k+2} = q_k, d and e for each of the
  // three wave speeds, q for each of the five unknowns.
  static constexpr int kSystems = 3;
  static constexpr int kKept = kSpKept;
  static_assert(kKept == 2 * kSystems + kComponents);
  static constexpr int kHanded = kSpHanded;
  static constexpr int kUnknowns = kHanded * kComponents;

  PentadiagonalOf(int dimension, double time_step, double spacing)
      : convection_(time_step / (2.0 * spacing)),
        viscosity_(time_step / (spacing * spacing)),
        diffusion_(kDiffusion[static_cast<std::size_t>(dimension)]),
        dissipation_(time_step * kDissipation) {}

  // As in BlockTridiagonal, but two rows before the first one count. Along x the right-hand side is
  // first transformed into the eigenvectors' coordinates.
  template <int kDimension>
  void eliminate(const Lines& lines, double* kept, std::ptrdiff_t kept_row) const {
    constexpr auto c = along(kDimension);
    const double a = lines.ascending ? convection_ : -convection_;
    for (int first = 0; first < lines.vectors; first += kTogether) {
      const int end = first + kTogether < lines.vectors ? first + kTogether : lines.vectors;
      Wave waves[kTogether][3];
      for (int v = first; v < end; ++v) {
        waves[v - first][0] = wave(point<c>(lines, -1, v));
        waves[v - first][1] = wave(point<c>(lines, 0, v));
      }
      int turn = 0;
      for (int k = 0; k < lines.rows; ++k) {
        const bool at_edge =
            (k == 0 && lines.starts_at_edge) || (k == lines.rows - 1 && lines.ends_at_edge);
        const double diagonal = 1.0 + (at_edge ? 5.0 : 6.0) * dissipation_;
        for (int v = first; v < end; ++v) {
          Wave* const three = waves[v - first];
          const Wave next = wave(point<c>(lines, k + 1, v));
          double* const here = kept + k * kept_row + v * (kKept * kLanes);
          Lanes q;
          for (std::size_t m = 0; m < kComponents; ++m) {
            q[m] = load(lines.rhs[m] + k * lines.rhs_row + v * lines.vector);
          }
          if constexpr (kDimension == 0) q = to_waves(point<c>(lines, k, v), q);
          eliminate_row(a, diagonal, three[turn], three[(turn + 1) % 3], next, q, here, kept_row);
          three[(turn + 2) % 3] = next;
        }
        turn = (turn + 1) % 3;
      }
    }
  }

  // As in BlockTridiagonal: the unknowns of the other half's last two rows,
  // [vector][row][component] [kLanes], the nearer row first; kept rows are kept_row elements apart.
  static void meet(const double* mine, const double* theirs, std::ptrdiff_t kept_row,
                   double* beyond, int vectors) {
    for (int v = 0; v < vectors; ++v) {
      const std::ptrdiff_t at = v * (kKept * kLanes);
      const Half a(mine + at, kept_row);
      const Half b(theirs + at, kept_row);
      for (int m = 0; m < kComponents; ++m) {
        const std::size_t s = system_of(m);
        // This half is x + A y = q, the other y + B x = p, the unknowns nearer to the meeting point
        // first: (I - B A) y = p - B q.
        const auto& A = a.matrix[s];
        const auto& B = b.matrix[s];
        const Lanes& q = a.q;
        const std::size_t i = static_cast<std::size_t>(m);
        const Doubles p0 = b.q[i] - B[0][0] * q[i] - B[0][1] * a.q_far[i];
        const Doubles p1 = b.q_far[i] - B[1][0] * q[i] - B[1][1] * a.q_far[i];
        const Doubles m00 = 1.0 - (B[0][0] * A[0][0] + B[0][1] * A[1][0]);
        const Doubles m01 = -(B[0][0] * A[0][1] + B[0][1] * A[1][1]);
        const Doubles m10 = -(B[1][0] * A[0][0] + B[1][1] * A[1][0]);
        const Doubles m11 = 1.0 - (B[1][0] * A[0][1] + B[1][1] * A[1][1]);
        const Doubles over = 1.0 / (m00 * m11 - m01 * m10);
        double* const out = beyond + (v * kHanded * kComponents + m) * kLanes;
        store(out, (m11 * p0 - m01 * p1) * over);
        store(out + kComponents * kLanes, (m00 * p1 - m10 * p0) * over);
      }
    }
  }

  // As in BlockTridiagonal; finish(k, v, x) gets the unknowns in the coordinates of the next
  // direction's eigenvectors, or, after z, as change of the five components, in their order.
  template <int kDimension, typename Finish>
  static void substitute(const Lines& lines, const double* kept, std::ptrdiff_t kept_row,
                         const double* beyond, double* first_rows, const Finish& finish) {
    constexpr auto c = along(kDimension);
    for (int first = 0; first < lines.vectors; first += kTogether) {
      const int end = first + kTogether < lines.vectors ? first + kTogether : lines.vectors;
      Doubles near[kTogether][kComponents];
      Doubles far[kTogether][kComponents];
      for (int v = first; v < end; ++v) {
        const double* const from = beyond + v * kHanded * kComponents * kLanes;
        for (int m = 0; m < kComponents; ++m) {
          near[v - first][m] = load(from + m * kLanes);
          far[v - first][m] = load(from + (kComponents + m) * kLanes);
        }
      }
      for (int k = lines.rows - 1; k >= 0; --k) {
        for (int v = first; v < end; ++v) {
          const double* const here = kept + k * kept_row + v * (kKept * kLanes);
          Lanes x;
#pragma GCC unroll 5
          for (std::size_t m = 0; m < kComponents; ++m) {
            const double* const pair = here + 2 * system_of(static_cast<int>(m)) * kLanes;
            const Doubles value = load(here + (2 * kSystems + m) * kLanes) -
                                  load(pair) * near[v - first][m] -
                                  load(pair + kLanes) * far[v - first][m];
            far[v - first][m] = near[v - first][m];
            near[v - first][m] = value;
            x[m] = value;
          }
          if constexpr (kDimension == 0) {
            finish(k, v, from_x_to_y(x));
          } else if constexpr (kDimension == 1) {
            finish(k, v, from_y_to_z(x));
          } else {
            finish(k, v, from_waves(point<c>(lines, k, v), x));
          }
        }
      }
      if (first_rows == nullptr) continue;
      for (int v = first; v < end; ++v) {
        double* const to = first_rows + v * kHanded * kComponents * kLanes;
        for (int m = 0; m < kComponents; ++m) {
          store(to + m * kLanes, near[v - first][m]);
          store(to + (kComponents + m) * kLanes, far[v - first][m]);
        }
      }
    }
  }

 private:
  static constexpr int kTogether = kLanes > 1 ? 2 : 1;

  // A line's state at a point; velocities along the line and across, in the order of along().
  struct Point {
    Doubles density, volume;  // volume per mass
    Doubles velocity[3];
    Doubles kinetic;       // energy per mass
    Doubles sound_square;  // speed of sound, squared
  };

  // Quantities from which the coefficients of the systems are computed.
  struct Wave {
    Doubles speed, sound, diffusion;
  };

  static constexpr std::size_t system_of(int component) {
    return component < 3 ? 0 : static_cast<std::size_t>(component - 2);
  }

  template <std::array<int, kComponents> kOrder>
  static ASSAY_LANES_MEMBER Point point(const Lines& lines, int k, int v) {
    const std::ptrdiff_t at = k * lines.state_row + v * lines.vector;
    Point p;
    p.density = load(lines.state[kOrder[0]] + at);
    p.volume = 1.0 / p.density;
    p.velocity[0] = load(lines.state[kOrder[1]] + at) * p.volume;
    p.velocity[1] = load(lines.state[kOrder[2]] + at) * p.volume;
    p.velocity[2] = load(lines.state[kOrder[3]] + at) * p.volume;
    p.kinetic = 0.5 * (p.velocity[0] * p.velocity[0] + p.velocity[1] * p.velocity[1] +
                       p.velocity[2] * p.velocity[2]);
    p.sound_square = (kC1 * kC2) * (load(lines.state[kOrder[4]] + at) * p.volume - p.kinetic);
    return p;
  }

  ASSAY_LANES_MEMBER Wave wave(const Point& p) const {
    // Diffusion is bounded by the greatest coefficient of any component: that of heat.
    static_assert(kConduction > 4.0 / 3.0);
    return {p.velocity[0], square_root(p.sound_square),
            viscosity_ * (diffusion_ + (kConduction * kViscosity) * p.volume)};
  }

  ASSAY_LANES_MEMBER void eliminate_row(double a, double diagonal, const Wave& before,
                                        const Wave& here, const Wave& after, const Lanes& q,
                                        double* kept, std::ptrdiff_t kept_row) const {
    const double e = dissipation_;
    const Doubles low = -a * before.speed - before.diffusion - 4.0 * e;
    const Doubles middle = diagonal + 2.0 * here.diffusion;
    const Doubles high = a * after.speed - after.diffusion - 4.0 * e;
    const Doubles low_sound = a * before.sound;
    const Doubles high_sound = a * after.sound;
    const double* const one = kept - kept_row;  // the row before
    const double* const two = one - kept_row;   // and the row before that
#pragma GCC unroll 3
    for (int s = 0; s < kSystems; ++s) {
      const double sign = s == 0 ? 0.0 : s == 1 ? 1.0 : -1.0;
      const Doubles l = s == 0 ? low : low - sign * low_sound;
      const Doubles h = s == 0 ? high : high + sign * high_sound;
      const Doubles d1 = load(one + 2 * s * kLanes);
      const Doubles e1 = load(one + (2 * s + 1) * kLanes);
      const Doubles d2 = load(two + 2 * s * kLanes);
      const Doubles e2 = load(two + (2 * s + 1) * kLanes);
      const Doubles below = l - e * d2;
      const Doubles over = 1.0 / (middle - e * e2 - below * d1);
      store(kept + 2 * s * kLanes, (h - below * e1) * over);
      store(kept + (2 * s + 1) * kLanes, e * over);
      const int first = s == 0 ? 0 : s + 2;
      const int last = s == 0 ? 3 : s + 3;
#pragma GCC unroll 3
      for (int m = first; m < last; ++m) {
        const Doubles q1 = load(one + (2 * kSystems + m) * kLanes);
        const Doubles q2 = load(two + (2 * kSystems + m) * kLanes);
        store(kept + (2 * kSystems + m) * kLanes,
              (q[static_cast<std::size_t>(m)] - e * q2 - below * q1) * over);
      }
    }
  }

  // The last two rows of a half, solved for its last two unknowns in terms of the other half's:
  // x + matrix y = q, nearer rows first.
  struct Half {
    Half(const double* last, std::ptrdiff_t row) {
      const double* const far = last - row;
      for (std::size_t s = 0; s < kSystems; ++s) {
        const Doubles d = load(last + 2 * s * kLanes);
        const Doubles e = load(last + (2 * s + 1) * kLanes);
        const Doubles d_far = load(far + 2 * s * kLanes);
        const Doubles e_far = load(far + (2 * s + 1) * kLanes);
        // Row far: x_far + d_far x + e_far y = q_far, where x = q - d y - e y_far.
        matrix[s][0][0] = d;
        matrix[s][0][1] = e;
        matrix[s][1][0] = e_far - d_far * d;
        matrix[s][1][1] = -d_far * e;
        coupling[s] = d_far;
      }
      for (int m = 0; m < kComponents; ++m) {
        const std::size_t i = static_cast<std::size_t>(m);
        q[i] = load(last + (2 * kSystems + i) * kLanes);
        q_far[i] = load(far + (2 * kSystems + i) * kLanes) - coupling[system_of(m)] * q[i];
      }
    }

    std::array<std::array<std::array<Doubles, 2>, 2>, kSystems> matrix;
    std::array<Doubles, kSystems> coupling;
    Lanes q, q_far;
  };

  static constexpr double kHalfRoot = 0.70710678118654752440;

  // From components (density, momentum along x, y, z, energy) to the eigenvectors of the flux
  // along x.
  static ASSAY_LANES_MEMBER Lanes to_waves(const Point& p, const Lanes& r) {
    const Doubles u = p.velocity[0];
    const Doubles v = p.velocity[1];
    const Doubles w = p.velocity[2];
    const Doubles t1 =
        kC2 / p.sound_square * (p.kinetic * r[0] - u * r[1] - v * r[2] - w * r[3] + r[4]);
    const Doubles t2 = kHalfRoot * p.volume * (u * r[0] - r[1]);
    const Doubles t3 = kHalfRoot * p.volume * square_root(p.sound_square) * t1;
    return {r[0] - t1, p.volume * (r[3] - w * r[0]), p.volume * (v * r[0] - r[2]), t3 - t2,
            t3 + t2};
  }

  // From the eigenvectors along one direction to those along the next.
  static ASSAY_LANES_MEMBER Lanes from_x_to_y(const Lanes& r) {
    const Doubles t1 = kHalfRoot * r[2];
    const Doubles t2 = 0.5 * (r[3] + r[4]);
    return {-r[1], r[0], kHalfRoot * (r[3] - r[4]), t2 - t1, t2 + t1};
  }

  static ASSAY_LANES_MEMBER Lanes from_y_to_z(const Lanes& r) {
    const Doubles t1 = kHalfRoot * r[0];
    const Doubles t2 = 0.5 * (r[3] + r[4]);
    return {kHalfRoot * (r[3] - r[4]), -r[2], r[1], t2 - t1, t2 + t1};
  }

  // From the eigenvectors along z back to the components. Velocities are in the order z, x, y.
  static ASSAY_LANES_MEMBER Lanes from_waves(const Point& p, const Lanes& r) {
    const Doubles u = p.velocity[1];
    const Doubles v = p.velocity[2];
    const Doubles w = p.velocity[0];
    const Doubles scaled = kHalfRoot * p.density;
    const Doubles t1 = scaled / square_root(p.sound_square) * (r[3] + r[4]);
    const Doubles t2 = r[2] + t1;
    const Doubles t3 = scaled * (r[3] - r[4]);
    return {t2, u * t2 - p.density * r[1], v * t2 + p.density * r[0], w * t2 + t3,
            p.density * (v * r[0] - u * r[1]) + p.kinetic * t2 + (1.0 / kC2) * p.sound_square * t1 +
                w * t3};
  }

  double convection_;
  double viscosity_;
  double diffusion_;
  double dissipation_;
};

using Pentadiagonal = PentadiagonalOf<Doubles>;
using PlainPentadiagonal = PentadiagonalOf<double>;

}  // namespace assay::npb::cfd
