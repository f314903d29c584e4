// The kernels' interface to the BLAS. The BLAS is in a separate library (blas/), which is loaded
// when first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "blas/table.hpp"
#include "harness/kernel.hpp"

namespace assay::blas {

// Throws KernelError if the BLAS can't be loaded, or if the kernels were built without one (the
// message says how to get one). So does the first call of any other function.
void require();

// Blocks of larger matrices are in column-major order. If an extent is 0, nothing is done.

// C = A B, where A is m x k and B k x n, after their transposition where they are transposed. The
// previous content of C is not read.
void product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
             std::int64_t leading_c);

// C -= A B.
void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
                      std::int64_t leading_c);

// y -= A x, where A is m x n.
void subtract_product(std::int64_t m, std::int64_t n, Block a, const double* x, double* y);

// B becomes L^-1 B, where B is m x n and L is lower triangular with ones on its diagonal. The block
// of L on and above the diagonal is not read.
void solve_unit_lower(std::int64_t m, std::int64_t n, Block l, double* b, std::int64_t leading_b);

// x becomes U^-1 x, where U of order n is upper triangular. The block of U below the diagonal is
// not read.
void solve_upper(std::int64_t n, Block u, double* x);

// Sets the number of threads of the BLAS, and returns the number that it reports, or 0 if it has no
// such function (then it follows OpenMP, or has no threads).
int set_threads(int threads);

// What the BLAS reports: its name as configured ("blas"), what sets its threads ("blas_threading"),
// its build ("blas_config") and the processor it is tuned for ("blas_core").
std::map<std::string, Value> facts();

}  // namespace assay::blas
