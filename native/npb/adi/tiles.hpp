// Transposes rows along x into lines in vector lanes, and back: squares of kLanes x kLanes; and
// copies single rows to lines, and back, for plain code.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "compute/lanes.hpp"

namespace assay::npb::cfd {

using Square = std::array<Doubles, kLanes>;

namespace square {

// Lane i of the result, selected from a followed by b: blocks of kWidth lanes of rows i and i +
// kWidth are exchanged across the diagonal.
template <int kWidth, bool kUpper>
constexpr int source(int lane) {
  const bool first = (lane & kWidth) == 0;
  if (kUpper) return first ? lane + kWidth : lane + kLanes;
  return first ? lane : lane + kLanes - kWidth;
}

template <int kWidth, bool kUpper, int... kLane>
ASSAY_LANES_INLINE Doubles mix(Doubles a, Doubles b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, source<kWidth, kUpper>(kLane)...);
}

template <int kWidth>
ASSAY_LANES_INLINE void swap(Square& rows) {
  constexpr auto lanes = std::make_integer_sequence<int, kLanes>{};
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kLanes; ++i) {
    if ((i & kWidth) != 0) continue;
    const Doubles a = rows[i];
    const Doubles b = rows[i + kWidth];
    rows[i] = mix<kWidth, false>(a, b, lanes);
    rows[i + kWidth] = mix<kWidth, true>(a, b, lanes);
  }
}

}  // namespace square

ASSAY_LANES_INLINE void transpose(Square& rows) {
  square::swap<1>(rows);
  if constexpr (kLanes > 2) square::swap<2>(rows);
  if constexpr (kLanes > 4) square::swap<4>(rows);
}

// Elements 0 .. count - 1, rounded up to whole squares, of kLanes rows: element x of the rows goes
// to the vector at to + x * step.
inline void gather(const std::array<const double*, kLanes>& rows, int count, double* to,
                   std::ptrdiff_t step) {
  for (std::ptrdiff_t x = 0; x < count; x += kLanes) {
    Square values;
    for (std::size_t i = 0; i < kLanes; ++i) {
      values[i] = *reinterpret_cast<const Doubles*>(rows[i] + x);
    }
    transpose(values);
    for (std::ptrdiff_t i = 0; i < kLanes; ++i) {
      *reinterpret_cast<Doubles*>(to + (x + i) * step) = values[static_cast<std::size_t>(i)];
    }
  }
}

// The reverse, to the first `valid` of the rows.
inline void scatter(const double* from, std::ptrdiff_t step, int count,
                    const std::array<double*, kLanes>& rows, int valid) {
  for (std::ptrdiff_t x = 0; x < count; x += kLanes) {
    Square values;
    for (std::ptrdiff_t i = 0; i < kLanes; ++i) {
      values[static_cast<std::size_t>(i)] =
          *reinterpret_cast<const Doubles*>(from + (x + i) * step);
    }
    transpose(values);
    for (int i = 0; i < valid; ++i) {
      *reinterpret_cast<Doubles*>(rows[static_cast<std::size_t>(i)] + x) =
          values[static_cast<std::size_t>(i)];
    }
  }
}

// One row, for plain code.
inline void gather(const std::array<const double*, 1>& rows, int count, double* to,
                   std::ptrdiff_t step) {
  for (std::ptrdiff_t x = 0; x < count; ++x) to[x * step] = rows[0][x];
}

inline void scatter(const double* from, std::ptrdiff_t step, int count,
                    const std::array<double*, 1>& rows, int) {
  for (std::ptrdiff_t x = 0; x < count; ++x) rows[0][x] = from[x * step];
}

}  // namespace assay::npb::cfd
