// The update of the trailing matrix, overlapped with a broadcast.
#pragma once

#include <cstdint>

#include "compute/blas.hpp"
#include "linpack/broadcast.hpp"

namespace assay::linpack {

// C -= L U, where L is height x depth and U depth x width.
struct Product {
  std::int64_t height;
  std::int64_t width;
  std::int64_t depth;
  blas::Block l;
  blas::Block u;
  double* c;
  std::int64_t leading_c;
};

// Computes the product, and progresses `sent`, if any, from time to time. Each thread calls the
// BLAS for a piece of C at a time, so the BLAS must use one thread.
void subtract(const Product& product, int threads, PanelBroadcast* sent);

}  // namespace assay::linpack
