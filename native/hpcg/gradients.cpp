#include "hpcg/gradients.hpp"

#include <algorithm>
#include <cmath>

namespace assay::hpcg {

Vectors::Vectors(const System& system, int threads)
    : b(touched(system.length(), threads)),
      x(touched(system.length(), threads)),
      r(touched(system.length(), threads)),
      z(touched(system.length(), threads)),
      p(touched(system.length(), threads)),
      product(touched(system.length(), threads)) {}

Convergence conjugate_gradients(System& system, Vectors& v, const Until& until, Phases& phases,
                                int threads, MPI_Comm comm) {
  const std::int64_t own = system.own();
  const auto scalar = [&](const Vector& a, const Vector& b) {
    double sum = 0.0;
    phases.in(kDot, [&] { sum = dot(a.data(), b.data(), own, threads, comm); });
    return sum;
  };
  const auto combine = [&](double alpha, const Vector& a, double beta, const Vector& b,
                           Vector& to) {
    phases.in(kWaxpby, [&] { waxpby(alpha, a.data(), beta, b.data(), to.data(), own, threads); });
  };
  const auto multiply = [&] {
    phases.in(kSpmv, [&] { system.multiply(v.p.data(), v.product.data()); });
  };

  phases.in(kWaxpby, [&] {
    std::fill(v.x.data(), v.x.data() + own, 0.0);
    std::copy(v.x.data(), v.x.data() + own, v.p.data());
  });
  multiply();
  combine(1.0, v.b, -1.0, v.product, v.r);
  const double first = std::sqrt(scalar(v.r, v.r));
  Convergence now{0, 1.0};
  double rho = 0.0;
  while (now.iterations < until.iterations && !(now.scaled <= until.tolerance)) {
    const Vector& z = until.preconditioned ? v.z : v.r;
    if (until.preconditioned) system.precondition(v.r.data(), v.z.data());
    const double before = rho;
    rho = scalar(v.r, z);
    const double beta = now.iterations == 0 ? 0.0 : rho / before;
    combine(1.0, z, beta, v.p, v.p);
    multiply();
    const double alpha = rho / scalar(v.p, v.product);
    combine(1.0, v.x, alpha, v.p, v.x);
    combine(1.0, v.r, -alpha, v.product, v.r);
    now.scaled = std::sqrt(scalar(v.r, v.r)) / first;
    ++now.iterations;
  }
  return now;
}

}  // namespace assay::hpcg
