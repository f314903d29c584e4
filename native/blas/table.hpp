// The interface between the BLAS library and the kernels that load it. Its functions are plain C,
// so that both sides may use different C++ libraries.
#pragma once

#include <cstdint>

namespace assay::blas {

// Part of a larger matrix, in column-major order; the leading dimension is the distance between
// columns. `transposed`: the factor of a product is the transpose of what is stored.
struct Block {
  const double* entries;
  std::int64_t leading;
  bool transposed = false;
};

// Extents are above 0.
struct Table {
  // C = alpha A B + beta C, where A is m x k and B k x n.
  void (*add_product)(std::int64_t m, std::int64_t n, std::int64_t k, double alpha, Block a,
                      Block b, double beta, double* c, std::int64_t leading_c);
  // y -= A x, where A is m x n.
  void (*subtract_from_vector)(std::int64_t m, std::int64_t n, Block a, const double* x, double* y);
  // B becomes L^-1 B, x becomes U^-1 x: see compute/blas.hpp.
  void (*solve_unit_lower)(std::int64_t m, std::int64_t n, Block l, double* b,
                           std::int64_t leading_b);
  void (*solve_upper)(std::int64_t n, Block u, double* x);
  // Sets the number of threads and returns the number in force; 0 if it can't be queried.
  int (*set_threads)(int threads);
  // The library that sets the threads; the BLAS's own description of its build, and the processor
  // it is tuned for, null where it doesn't report them.
  const char* (*threading)();
  const char* (*build)();
  const char* (*core)();
};

}  // namespace assay::blas

extern "C" const assay::blas::Table* assay_blas_table();
