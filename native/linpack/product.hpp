// The update of the trailing matrix, while a broadcast goes on behind it.
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

// Does it, and moves `sent`, if any, on from time to time. The BLAS is called by each of the
// threads, for a piece of C at a time, so it is to use one thread by itself.
void subtract(const Product& product, int threads, PanelBroadcast* sent);

}  // namespace assay::linpack
