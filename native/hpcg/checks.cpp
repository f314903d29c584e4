#include "hpcg/checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "memory/draws.hpp"

namespace assay::hpcg {

namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kMatrixNorm = 2.0 * kDiagonal;  // a bound by Gershgorin's circles

// Numbers of each point, in (0, 1), whatever the ranks and the order of the rows.
void fill_random(const SlicedMatrix& a, const Setting& in, std::uint64_t which, Vector& x) {
  for (std::int64_t at = 0; at < a.own; ++at) {
    const std::int32_t row = a.row_at[static_cast<std::size_t>(at)];
    if (row < 0) continue;
    const Box& box = in.box;
    const std::int64_t i = box.at[0] * box.size[0] + row % box.size[0];
    const std::int64_t j = box.at[1] * box.size[1] + row / box.size[0] % box.size[1];
    const std::int64_t k = box.at[2] * box.size[2] + row / (box.size[0] * box.size[1]);
    const std::int64_t point = i + box.extent(0) * (j + box.extent(1) * k);
    x[static_cast<std::size_t>(at)] =
        static_cast<double>(Draws(in.seed + 2 * static_cast<std::uint64_t>(point) + which).next() >>
                            11) *
        0x1p-53;
  }
}

}  // namespace

void Checks::add(const std::string& what, double share) {
  if (std::isnan(share_)) return;
  if (!(share <= share_)) {
    share_ = share;
    what_ = what;
  }
}

void check_symmetry(FastSystem& system, Vectors& v, const Setting& in, Checks& checks) {
  const std::int64_t own = system.own();
  const auto scalar = [&](const Vector& a, const Vector& b) {
    return dot(a.data(), b.data(), own, in.threads, in.comm);
  };
  fill_random(system.finest(), in, 0, v.x);
  fill_random(system.finest(), in, 1, v.p);
  const double size =
      2.0 * std::sqrt(scalar(v.x, v.x)) * kMatrixNorm * std::sqrt(scalar(v.p, v.p)) * kEpsilon;
  system.multiply(v.p.data(), v.product.data());
  const double x_a_y = scalar(v.x, v.product);
  system.multiply(v.x.data(), v.product.data());
  const double y_a_x = scalar(v.p, v.product);
  checks.add("asymmetry of the matrix", std::abs(x_a_y - y_a_x) / size);
  system.precondition(v.p.data(), v.z.data());
  const double x_m_y = scalar(v.x, v.z);
  system.precondition(v.x.data(), v.z.data());
  const double y_m_x = scalar(v.p, v.z);
  checks.add("asymmetry of the preconditioner", std::abs(x_m_y - y_m_x) / size);
}

void check_spectrum(FastSystem& system, Vectors& v, Phases& phases, const Setting& in,
                    Checks& checks) {
  constexpr double kCluster = 1e6;
  constexpr std::int64_t kApart = 9;
  constexpr double kTolerance = 1e-12;
  constexpr int kPlainIterations = 12;
  constexpr int kPreconditionedIterations = 2;
  const SlicedMatrix& a = system.finest();
  const auto own = static_cast<std::size_t>(a.own);
  std::vector<double> usual(a.diagonal.data(), a.diagonal.data() + own);
  std::vector<double> changed = usual;
  const std::vector<double> right(v.b.data(), v.b.data() + own);
  for (std::size_t at = 0; at < own; ++at) {
    const std::int64_t row = a.row_at[at];
    if (row < 0) continue;
    const bool first =
        in.box.at == std::array<int, 3>{0, 0, 0} && row < std::min(kApart, in.box.size[0]);
    changed[at] = kCluster * (first ? static_cast<double>(row) + 2.0 : 1.0);
    v.b[at] *= changed[at];
  }
  system.set_diagonal(changed);
  for (const bool preconditioned : {false, true}) {
    const int most = preconditioned ? kPreconditionedIterations : kPlainIterations;
    const Until until{4 * most, kTolerance, preconditioned};
    const int taken = conjugate_gradients(system, v, until, phases, in.threads, in.comm).iterations;
    checks.add(preconditioned ? "iterations on clustered eigenvalues, preconditioned"
                              : "iterations on clustered eigenvalues",
               static_cast<double>(taken) / most);
  }
  system.set_diagonal(usual);
  std::copy(right.begin(), right.end(), v.b.data());
}

void check_row_sums(FastSystem& system, Vectors& v, const Setting& in, Checks& checks) {
  const SlicedMatrix& a = system.finest();
  for (std::size_t at = 0; at < a.row_at.size(); ++at) v.p[at] = a.row_at[at] < 0 ? 0.0 : 1.0;
  system.multiply(v.p.data(), v.product.data());
  double wrong = 0.0;
  for (std::int64_t i = 0; i < a.own; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (!(v.product[at] == v.b[at])) wrong += 1.0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_DOUBLE, MPI_SUM, in.comm);
  // One wrong row is too many.
  checks.add("wrong row sums", wrong > 0.0 ? 1.0 + wrong : 0.0);
}

void check_residual(FastSystem& system, Vectors& v, const Convergence& last, const Setting& in,
                    Checks& checks) {
  const std::int64_t own = system.own();
  const auto norm = [&](const Vector& a) {
    return std::sqrt(dot(a.data(), a.data(), own, in.threads, in.comm));
  };
  // The residual of the recurrence is still in r.
  system.multiply(v.x.data(), v.product.data());
  waxpby(1.0, v.b.data(), -1.0, v.product.data(), v.product.data(), own, in.threads);
  waxpby(1.0, v.product.data(), -1.0, v.r.data(), v.product.data(), own, in.threads);
  const double allowed = last.iterations * kEpsilon * kMatrixNorm * norm(v.x);
  checks.add("gap between the residual and the recurrence's", norm(v.product) / allowed);
}

}  // namespace assay::hpcg
