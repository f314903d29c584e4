#include "npb/cfd/operator.hpp"

#include <algorithm>

#include "compute/lanes.hpp"

namespace assay::npb::cfd {
namespace {

// Quantities derived from the components at a point and then differenced: three velocities, the
// pressure and the energy whose second differences are the viscous term of the last equation,
// except for the velocity along the direction.
constexpr int kVelocity = 0;
constexpr int kPressure = 3;
constexpr int kViscousEnergy = 4;
constexpr int kQuantities = 5;

constexpr std::ptrdiff_t kLine = 8;
constexpr std::ptrdiff_t kAhead = 12 * kLine;  // prefetch distance in elements; not critical

// Fourth difference at -2 .. 2 for the point of that global index: one-sided next to the boundary.
std::array<double, 5> fourth_difference(int index, int points) {
  if (index <= 0 || index >= points - 1) return {};
  std::array<double, 5> c{1.0, -4.0, 6.0, -4.0, 1.0};
  if (index == 1) c = {0.0, 0.0, 5.0, c[3], c[4]};
  if (index == 2) c[0] = 0.0;
  if (index == points - 2) c = {c[0], c[1], index == 1 ? 4.0 : 5.0, 0.0, 0.0};
  if (index == points - 3) c[4] = 0.0;
  return c;
}

// The part of one row's computation that does not depend on x.
struct RowPlan {
  std::array<const double*, kComponents> u;
  std::array<const double*, kQuantities> q;
  std::array<const double*, kComponents> forcing;
  std::array<double*, kComponents> result;
  std::array<std::array<std::ptrdiff_t, 5>, 2> u_to;  // y, z: offsets of -2 .. 2 in elements
  std::array<std::array<std::ptrdiff_t, 2>, 2> q_to;  // y, z: offsets of -1, 1 in elements
  std::array<std::array<double, 5>, 2> across;
  std::array<const double*, 5> along;
  const double* inside;
  double half_inverse_spacing;  // 1 / 2h
  double viscous;               // viscosity / h^2
  double scale;
};

// The operator at one point or, for a vector V, at as many as it has lanes from x on.
template <typename V, bool kForced>
ASSAY_LANES_INLINE void evaluate(const RowPlan& row, std::ptrdiff_t x) {
  constexpr double kFourThirds = 4.0 / 3.0;
  // Neighbours at -1, 1 in each direction.
  const std::array<std::array<std::ptrdiff_t, 2>, 3> u_to{
      {{-1, 1}, {row.u_to[0][1], row.u_to[0][3]}, {row.u_to[1][1], row.u_to[1][3]}}};
  const std::array<std::array<std::ptrdiff_t, 2>, 3> q_to{
      {{-1, 1}, {row.q_to[0][0], row.q_to[0][1]}, {row.q_to[1][0], row.q_to[1][1]}}};

  V flux[kComponents];     // differences of fluxes, all directions
  V viscous[kComponents];  // second differences
  for (int m = 0; m < kComponents; ++m) flux[m] = V{};
  for (int c = 0; c < 3; ++c) {
    viscous[1 + c] = (-2.0 * (kFourThirds + 2.0)) * load<V>(row.q[kVelocity + c] + x);
  }
  viscous[4] = -6.0 * load<V>(row.q[kViscousEnergy] + x);
  V squares{};  // second differences of the squares of velocities along their own directions
#pragma GCC unroll 3
  for (int d = 0; d < 3; ++d) {
    const V centre = load<V>(row.q[kVelocity + d] + x);
    squares -= 2.0 * centre * centre;
#pragma GCC unroll 2
    for (int side = 0; side < 2; ++side) {
      const double sign = side == 0 ? -1.0 : 1.0;
      const std::ptrdiff_t u_at = x + u_to[d][side];
      const std::ptrdiff_t q_at = x + q_to[d][side];
      V velocity[3];
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) velocity[c] = load<V>(row.q[kVelocity + c] + q_at);
      const V pressure = load<V>(row.q[kPressure] + q_at);
      const V speed = velocity[d];  // along the direction
      squares += speed * speed;
      viscous[4] += load<V>(row.q[kViscousEnergy] + q_at);
#pragma GCC unroll 3
      for (int c = 0; c < 3; ++c) {
        viscous[1 + c] += c == d ? kFourThirds * velocity[c] : velocity[c];
        const V momentum = load<V>(row.u[1 + c] + u_at);
        flux[1 + c] += (sign * speed) * momentum;
        if (c == d) {
          flux[0] += sign * momentum;
          flux[1 + c] += sign * pressure;
        }
      }
      flux[4] += (sign * speed) * (load<V>(row.u[4] + u_at) + pressure);
    }
  }
  viscous[4] += (1.0 / 6.0) * squares;

  V along[5];
#pragma GCC unroll 5
  for (int s = 0; s < 5; ++s) along[s] = load<V>(row.along[s] + x);
  along[2] += row.across[0][2] + row.across[1][2];
  const V scale = row.scale * load<V>(row.inside + x);
#pragma GCC unroll 5
  for (int m = 0; m < kComponents; ++m) {
    const double* const u = row.u[m] + x;
    // The elements that this row is the first to read, for the next row.
    __builtin_prefetch(u + row.u_to[1][4] + kAhead);
    __builtin_prefetch(row.result[m] + x + kAhead, 1);
    if constexpr (kForced) __builtin_prefetch(row.forcing[m] + x + kAhead);
    V sum = along[2] * load<V>(u);
#pragma GCC unroll 5
    for (int s = 0; s < 5; ++s) {
      if (s == 2) continue;
      sum += along[s] * load<V>(u + (s - 2));
      sum += row.across[0][s] * load<V>(u + row.u_to[0][s]);
      sum += row.across[1][s] * load<V>(u + row.u_to[1][s]);
    }
    sum -= row.half_inverse_spacing * flux[m];
    if (m > 0) sum += row.viscous * viscous[m];
    if constexpr (kForced) sum += load<V>(row.forcing[m] + x);
    store<V>(row.result[m] + x, scale * sum);
  }
}

template <bool kForced>
void evaluate_row(const RowPlan& row, int count) {
  int x = 0;
  for (; x + kLanes <= count; x += kLanes) evaluate<Doubles, kForced>(row, x);
  for (; x < count; ++x) evaluate<double, kForced>(row, x);
}

// The quantities at one or several points from x on.
template <typename V>
ASSAY_LANES_INLINE void derive(const std::array<const double*, kComponents>& u, double* to,
                               std::ptrdiff_t quantity, std::ptrdiff_t x) {
  const V inverse = 1.0 / load<V>(u[0] + x);
  const V energy = load<V>(u[4] + x);
  V twice = V{};  // twice the kinetic energy
  V square = V{};
#pragma GCC unroll 3
  for (int c = 0; c < 3; ++c) {
    const V momentum = load<V>(u[1 + c] + x);
    const V velocity = momentum * inverse;
    twice += momentum * velocity;
    square += velocity * velocity;
    store<V>(to + (kVelocity + c) * quantity + x, velocity);
  }
  store<V>(to + kPressure * quantity + x, kC2 * (energy - 0.5 * twice));
  store<V>(to + kViscousEnergy * quantity + x,
           (0.5 * (1.0 - kConduction)) * square + kConduction * (energy * inverse));
}

}  // namespace

Operator::Operator(const Block& block) : block_(block) {
  const double h = block.spacing();
  const auto stencil = [&](int d, int local) {
    const int index = block.first[static_cast<std::size_t>(d)] + local;
    Stencil c = fourth_difference(index, block.points);
    for (double& each : c) each *= -kDissipation;
    const double diffusion = kDiffusion[static_cast<std::size_t>(d)] / (h * h);
    c[1] += diffusion;
    c[2] -= 2.0 * diffusion;
    c[3] += diffusion;
    return c;
  };
  for (int d = 1; d < 3; ++d) {
    auto& across = across_[static_cast<std::size_t>(d - 1)];
    for (int i = 0; i < block.count[static_cast<std::size_t>(d)]; ++i) {
      across.push_back(stencil(d, i));
    }
  }
  for (int x = 0; x < block.count[0]; ++x) {
    const Stencil c = stencil(0, x);
    for (std::size_t s = 0; s < c.size(); ++s) along_[s].push_back(c[s]);
    inside_.push_back(x >= block.inner_begin(0) && x < block.inner_end(0) ? 1.0 : 0.0);
  }
}

OperatorWalk::OperatorWalk(const Operator& of, Range rows)
    : operator_(of),
      rows_{std::max(rows.begin, of.block().inner_begin(1)),
            std::min(rows.end, of.block().inner_end(1))},
      row_(Layout(of.block()).row),
      quantity_(row_ * std::max(0, rows_.end - rows_.begin + 2) + kLine),
      plane_(quantity_ * kQuantities),
      planes_(static_cast<std::size_t>(kPlanes * plane_ + 2 * kLine)) {}

double* OperatorWalk::primitives(int z, int row) {
  const int place = (z + kPlanes) % kPlanes;
  return planes_.data() + kLine + place * plane_ + (row - rows_.begin + 1) * row_;
}

void OperatorWalk::begin(const Field& u, int z) {
  fill(u, z - 1);
  fill(u, z);
}

void OperatorWalk::fill(const Field& u, int z) {
  const int count = operator_.block().count[0];
  for (int y = rows_.begin - 1; y < rows_.end + 1; ++y) {
    std::array<const double*, kComponents> rows;
    for (int m = 0; m < kComponents; ++m) rows[m] = u.row(m, z, y);
    double* const to = primitives(z, y);
    derive<double>(rows, to, quantity_, -1);
    int x = 0;
    for (; x + kLanes <= count; x += kLanes) derive<Doubles>(rows, to, quantity_, x);
    for (; x <= count; ++x) derive<double>(rows, to, quantity_, x);
  }
}

void OperatorWalk::plane(const Field& u, const Field* forcing, double scale, Field& result, int z) {
  if (rows_.begin >= rows_.end) return;
  fill(u, z + 1);
  const Block& block = operator_.block();
  const Layout& layout = u.layout();
  const double inverse = block.points - 1;
  RowPlan row{};
  row.half_inverse_spacing = 0.5 * inverse;
  row.viscous = kViscosity * inverse * inverse;
  row.scale = scale;
  row.inside = operator_.inside_.data();
  for (std::size_t s = 0; s < row.along.size(); ++s) row.along[s] = operator_.along_[s].data();
  // Where a coefficient is 0 the element may not exist: the centre is read instead.
  const auto steps = [](const Operator::Stencil& c, std::ptrdiff_t step) {
    std::array<std::ptrdiff_t, 5> to{};
    for (int s = 0; s < 5; ++s) to[s] = c[s] == 0.0 ? 0 : (s - 2) * step;
    return to;
  };
  row.across[1] = operator_.across_[1][z];
  row.u_to[1] = steps(row.across[1], layout.plane);
  for (int y = rows_.begin; y < rows_.end; ++y) {
    row.across[0] = operator_.across_[0][y];
    row.u_to[0] = steps(row.across[0], layout.row);
    const double* const centre = primitives(z, y);
    row.q_to = {{{-row_, row_}, {primitives(z - 1, y) - centre, primitives(z + 1, y) - centre}}};
    for (int m = 0; m < kComponents; ++m) {
      row.u[m] = u.row(m, z, y);
      row.q[m] = centre + m * quantity_;
      row.result[m] = result.row(m, z, y);
      if (forcing != nullptr) row.forcing[m] = forcing->row(m, z, y);
    }
    if (forcing != nullptr) {
      evaluate_row<true>(row, block.count[0]);
    } else {
      evaluate_row<false>(row, block.count[0]);
    }
  }
}

void apply(const Operator& of, const Field& u, const Field* forcing, double scale, Field& result,
           Range rows, Range planes) {
  const int begin = std::max(planes.begin, of.block().inner_begin(2));
  const int end = std::min(planes.end, of.block().inner_end(2));
  if (begin >= end) return;
  OperatorWalk walk(of, rows);
  walk.begin(u, begin);
  for (int z = begin; z < end; ++z) walk.plane(u, forcing, scale, result, z);
}

}  // namespace assay::npb::cfd
