// Products of sparse rows with a vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "npb/cg/matrix.hpp"

namespace assay::npb {

// Four lanes on every machine: loading single elements and combining them is faster than the gather
// instructions on the processors measured (AMD Zen 5: 0.59 ms against 0.73 ms for class A), and two
// accumulators of four hide the latency of the sums.
typedef double FourDoubles __attribute__((vector_size(32)));

template <typename Index>
static inline __attribute__((always_inline)) void add_four(FourDoubles& sum, const double* value,
                                                           const Index* column, const double* x) {
  FourDoubles values;  // no function can return vectors of this width on every machine
  std::memcpy(&values, value, sizeof(values));
  sum += values * FourDoubles{x[column[0]], x[column[1]], x[column[2]], x[column[3]]};
}

// y[i] = (row begin + i of A) x for all rows; returns the sum of y[i] x[begin + i]. Prefetches
// `kAhead` elements in advance, which the hardware does not do well for streams from memory; 0: no
// prefetch.
template <int kAhead, typename Index>
double multiply(const SparseRows<Index>& rows, const double* __restrict x, double* __restrict y) {
  constexpr int kStep = 8;
  const double* const value = rows.value.data();
  const Index* const column = rows.column.data();
  double product = 0.0;
  for (std::int32_t i = 0; i < rows.end - rows.begin; ++i) {
    std::int64_t k = rows.start[i];
    const std::int64_t end = rows.start[i + 1];
    FourDoubles even{};
    FourDoubles odd{};
    for (; k + kStep <= end; k += kStep) {
      if constexpr (kAhead > 0) {
        __builtin_prefetch(value + k + kAhead);
        __builtin_prefetch(column + k + kAhead);
      }
      add_four(even, value + k, column + k, x);
      add_four(odd, value + k + 4, column + k + 4, x);
    }
    double rest = 0.0;
    for (; k < end; ++k) rest += value[k] * x[column[k]];
    even += odd;
    y[i] = (even[0] + even[1]) + (even[2] + even[3]) + rest;
    product += y[i] * x[rows.begin + i];
  }
  return product;
}

// The same, element by element: the reference for the function above.
template <typename Index>
double multiply_plain(const SparseRows<Index>& rows, const double* x, double* y) {
  double product = 0.0;
  for (std::int32_t i = 0; i < rows.end - rows.begin; ++i) {
    y[i] = 0.0;
    for (std::int64_t k = rows.start[i]; k < rows.start[i + 1]; ++k) {
      y[i] += rows.value[k] * x[rows.column[k]];
    }
    product += y[i] * x[rows.begin + i];
  }
  return product;
}

}  // namespace assay::npb
