// What the library that speaks to the BLAS gives to the kernels that load it: plain functions, so
// that the two may have C++ libraries of their own.
#pragma once

#include <cstdint>

namespace assay::blas {

// Part of a larger matrix, in column-major order; the leading dimension is the distance of columns.
struct Block {
  const double* entries;
  std::int64_t leading;
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
  // Sets the number of threads and gives back what is in force; 0 where it can't be asked.
  int (*set_threads)(int threads);
  // What sets the threads; the BLAS's own words on its build, and the processor it is tuned for,
  // null where it tells neither.
  const char* (*threading)();
  const char* (*build)();
  const char* (*core)();
};

}  // namespace assay::blas

extern "C" const assay::blas::Table* assay_blas_table();
