// What kernels ask of the BLAS. It is in a library of its own (blas/), loaded when first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "blas/table.hpp"
#include "harness/kernel.hpp"

namespace assay::blas {

// Throws KernelError if the kernels were built without a BLAS, saying how to get one, or if theirs
// can't be loaded. So does whatever is called first.
void require();

// C = A B for square matrices of order n in column-major order. What C held before is not read.
void multiply(std::size_t n, const double* a, const double* b, double* c);

// Parts of larger matrices are in column-major order. Where an extent is 0 nothing is done.

// C = A B, where A is m x k and B k x n. What C held before is not read.
void product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
             std::int64_t leading_c);

// C -= A B.
void subtract_product(std::int64_t m, std::int64_t n, std::int64_t k, Block a, Block b, double* c,
                      std::int64_t leading_c);

// y -= A x, where A is m x n.
void subtract_product(std::int64_t m, std::int64_t n, Block a, const double* x, double* y);

// B becomes L^-1 B, where B is m x n and L is lower triangular with ones on its diagonal. What L's
// block holds on and above the diagonal is not read.
void solve_unit_lower(std::int64_t m, std::int64_t n, Block l, double* b, std::int64_t leading_b);

// x becomes U^-1 x, where U of order n is upper triangular. What its block holds below the diagonal
// is not read.
void solve_upper(std::int64_t n, Block u, double* x);

// Sets the number of threads that the BLAS uses from now on, and returns what it says it uses, or 0
// where it can't be asked (then it is one of those that follow OpenMP, or has no threads).
int set_threads(int threads);

// What the BLAS says of itself: its name as configured ("blas"), what sets its threads
// ("blas_threading"), its build ("blas_config") and the processor it is tuned for ("blas_core").
std::map<std::string, Value> facts();

}  // namespace assay::blas
