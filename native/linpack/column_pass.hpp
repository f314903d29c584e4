// One pass over the rows of a panel's column: subtracts the contribution of the columns before it,
// and searches for the next pivot.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "compute/lanes.hpp"

namespace assay::linpack {

// Panel columns that are factored by passes; wider parts use products of matrices.
inline constexpr int kNarrow = 8;

// The greatest magnitude of a column, and the first row that has it; 0 and -1 if there is nothing
// but 0 and NaN.
struct Greatest {
  double magnitude = 0.0;
  std::int64_t row = -1;

  void consider(double found, std::int64_t at) {
    if (found > magnitude || (found == magnitude && found > 0.0 && at < row)) {
      magnitude = found;
      row = at;
    }
  }
};

ASSAY_LANES_INLINE Doubles magnitudes(Doubles x) {
  return as_doubles(as_words(x) & 0x7fffffffffffffffu);
}

// Column `K` of the columns that begin at `columns`, `leading` apart, over `count` rows: the column
// before it is multiplied by `scale` (one over its pivot), then
//   x -= sum over k < K of column k times u[k].
template <int K>
Greatest column_pass(double* columns, std::int64_t leading, std::int64_t count, const double* u,
                     double scale) {
  Greatest greatest;
  double* const x = columns + K * leading;
  const auto one = [&](std::int64_t i) {
    double value = x[i];
    for (int k = 0; k < K; ++k) {
      double& l = columns[k * leading + i];
      if (k == K - 1) l *= scale;
      value -= l * u[k];
    }
    x[i] = value;
    greatest.consider(std::abs(value), i);
  };

  std::int64_t i = 0;
  // Up to the first aligned vector: the leading dimension is a multiple of a vector.
  constexpr auto kBytes = sizeof(Doubles);
  const auto misplaced = reinterpret_cast<std::uintptr_t>(x) % kBytes;
  const auto head = static_cast<std::int64_t>((kBytes - misplaced) % kBytes / sizeof(double));
  for (; i < head && i < count; ++i) one(i);

  constexpr int kVectors = 4;
  Doubles best[kVectors] = {};
  Mask where[kVectors] = {};
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
    Doubles values[kVectors];
    for (int v = 0; v < kVectors; ++v) values[v] = load(x + i + v * kLanes);
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      double* const l = columns + k * leading + i;
      for (int v = 0; v < kVectors; ++v) {
        Doubles factors = load(l + v * kLanes);
        if (k == K - 1) {
          factors *= scale;
          store(l + v * kLanes, factors);
        }
        values[v] -= factors * u[k];
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      store(x + i + v * kLanes, values[v]);
      const Doubles found = magnitudes(values[v]);
      const Mask more = found > best[v];
      best[v] = more ? found : best[v];
      where[v] = more ? Mask{} + i : where[v];
    }
  }
  for (int v = 0; v < kVectors; ++v) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (best[v][lane] > 0.0) {
        greatest.consider(best[v][lane], where[v][lane] + v * kLanes + lane);
      }
    }
  }
  for (; i < count; ++i) one(i);
  return greatest;
}

// The same for a column number of up to kNarrow - 1 that is known only at run time.
inline Greatest column_pass(int column, double* columns, std::int64_t leading, std::int64_t count,
                            const double* u, double scale) {
  using Pass = Greatest (*)(double*, std::int64_t, std::int64_t, const double*, double);
  static constexpr auto kPasses = []<int... K>(std::integer_sequence<int, K...>) {
    struct Table {
      Pass passes[kNarrow];
    };
    return Table{{&column_pass<K>...}};
  }(std::make_integer_sequence<int, kNarrow>{});
  return kPasses.passes[column](columns, leading, count, u, scale);
}

}  // namespace assay::linpack
