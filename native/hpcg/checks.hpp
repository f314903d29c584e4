// The tests of HPCG (SAND2013-8752, section 4): each yields a share of its tolerance, at most 1 if
// it is passed and NaN if a number was.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

#include "hpcg/fast.hpp"
#include "hpcg/gradients.hpp"

namespace assay::hpcg {

// The worst of several checks.
class Checks {
 public:
  void add(const std::string& what, double share);
  const std::string& worst() const { return what_; }
  double share() const { return share_; }

 private:
  std::string what_ = "no test";
  double share_ = 0.0;
};

struct Setting {
  MPI_Comm comm;
  Box box;
  int threads;
  std::uint64_t seed;
};

// |x'Ay - y'Ax| / (2 ||x|| ||A|| ||y|| eps), with ||A|| = 52, for random x and y; the same for the
// preconditioner. They use x, r, z, p and the product of `v`.
void check_symmetry(FastSystem& system, Vectors& v, const Setting& in, Checks& checks);

// With 2e6, 3e6 .. 10e6 on the first diagonal elements and 1e6 on all others the matrix has ten
// clusters of eigenvalues: conjugate gradients need at most 12 iterations for 1e-12, and 2 with the
// preconditioner.
void check_spectrum(FastSystem& system, Vectors& v, Phases& phases, const Setting& in,
                    Checks& checks);

// The row sums are exactly the right-hand side, whose solution is 1.
void check_row_sums(FastSystem& system, Vectors& v, const Setting& in, Checks& checks);

// The residual b - A x of the last solution equals the recurrence's, `scaled`, up to the rounding
// errors of `iterations` steps: eps ||A|| ||x|| each (Greenbaum, SIAM J. Matrix Anal. Appl. 18,
// 1997). Uses r and the product of `v`.
void check_residual(FastSystem& system, Vectors& v, const Convergence& last, const Setting& in,
                    Checks& checks);

}  // namespace assay::hpcg
