// The loops of memory.strided: read, write, and STREAM's operations, on every stride-th element.
// Arithmetic only: no clock, no MPI. Luecke, Li & Cuma (2005), section 4.2, tests 1 and 3.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "memory/stream_loops.hpp"

namespace assay::strided {

// One pass over n elements, `stride` apart; returns the sum of a read, 0 for other operations.
// Arrays that an operation doesn't use are not accessed.
using Pass = double (*)(double* to, const double* x, const double* y, double scalar, std::size_t n,
                        std::size_t stride);

// Elements read together, so that no addition waits for the one before it: reading shall wait
// only for memory.
constexpr std::size_t kSums = 8;

struct Read {
  static constexpr std::string_view name = "read";
  static constexpr int reads = 1;
  static constexpr bool writes = false;
  static constexpr int flops = 1;
  static double of(double, double, double) { return 0.0; }
};

struct Write {
  static constexpr std::string_view name = "write";
  static constexpr int reads = 0;
  static constexpr bool writes = true;
  static constexpr int flops = 0;
  static double of(double, double, double scalar) { return scalar; }
};

template <class Op>
struct Both : Op {
  static constexpr bool writes = true;
};

// A fixed stride lets the compiler use vectors; 0 uses the given stride.
template <class Op, std::size_t fixed>
double pass(double* __restrict to, const double* __restrict x, const double* __restrict y,
            double scalar, std::size_t n, std::size_t given) {
  const std::size_t stride = fixed > 0 ? fixed : given;
  if constexpr (!Op::writes) {
    double sums[kSums] = {};
    std::size_t i = 0;
    for (; i + kSums <= n; i += kSums) {
      for (std::size_t v = 0; v < kSums; ++v) sums[v] += x[(i + v) * stride];
    }
    for (; i < n; ++i) sums[0] += x[i * stride];
    double sum = 0.0;
    for (const double each : sums) sum += each;
    return sum;
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t at = i * stride;
      if constexpr (Op::reads == 0) to[at] = Op::of(0.0, 0.0, scalar);
      if constexpr (Op::reads == 1) to[at] = Op::of(x[at], 0.0, scalar);
      if constexpr (Op::reads == 2) to[at] = Op::of(x[at], y[at], scalar);
    }
    return 0.0;
  }
}

struct Operation {
  std::string_view name;
  int reads;
  bool writes;
  int flops;
  Pass unit;  // stride 1
  Pass any;
  double (*of)(double x, double y, double scalar);
};

template <class Op>
Operation operation() {
  return {Op::name,
          Op::reads,
          Op::writes,
          Op::flops,
          pass<Op, 1>,
          pass<Op, 0>,
          [](double x, double y, double scalar) { return Op::of(x, y, scalar); }};
}

// The table of all operations.
inline const std::array<Operation, 6>& operations() {
  static const std::array<Operation, 6> table{operation<Read>(),
                                              operation<Write>(),
                                              operation<Both<stream::Copy>>(),
                                              operation<Both<stream::Scale>>(),
                                              operation<Both<stream::Sum>>(),
                                              operation<Both<stream::Triad>>()};
  return table;
}

}  // namespace assay::strided
