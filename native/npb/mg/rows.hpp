// MG's operators on rows of points along x, which is periodic and whole on every rank. Each
// operator of 27 points sums neighbours across x first, once for all three positions along x that
// use the sum, and shifts the result by one point in registers.
#pragma once

#include <cstddef>
#include <utility>

#include "compute/lanes.hpp"

namespace assay::npb {

template <typename V>
inline constexpr int kWidth = static_cast<int>(sizeof(V) / sizeof(double));

namespace detail {

template <int kFirst, int kStep, typename V, int... kLane>
ASSAY_LANES_INLINE V every(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (kFirst + kStep * kLane)...);
}

template <int kFirst, typename V, int... kLane>
ASSAY_LANES_INLINE V in_turns(V a, V b, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(a, b, (kFirst + kLane / 2 + kLane % 2 * kWidth<V>)...);
}

}  // namespace detail

// From the concatenated lanes of a and b: kFirst, kFirst + kStep, kFirst + 2 kStep ...
template <int kFirst, int kStep, typename V>
ASSAY_LANES_INLINE V every(V a, V b) {
  return detail::every<kFirst, kStep>(a, b, std::make_integer_sequence<int, kWidth<V>>{});
}

// Interleaves the lanes of a and b, from lane kFirst of each.
template <int kFirst, typename V>
ASSAY_LANES_INLINE V in_turns(V a, V b) {
  return detail::in_turns<kFirst>(a, b, std::make_integer_sequence<int, kWidth<V>>{});
}

// `here` shifted up by one point: each lane gets its lower neighbour.
template <typename V>
ASSAY_LANES_INLINE V lower_neighbours(V before, V here) {
  if constexpr (kWidth<V> == 1) {
    return before;
  } else {
    return every<kWidth<V> - 1, 1>(before, here);
  }
}

template <typename V>
ASSAY_LANES_INLINE V upper_neighbours(V here, V after) {
  if constexpr (kWidth<V> == 1) {
    return after;
  } else {
    return every<1, 1>(here, after);
  }
}

// Planes of rows around those that an operator works on: row y of plane z is at
// first[z] + y * stride. Planes are the one below, the rows' own, and the one above.
struct Around {
  const double* below;
  const double* here;
  const double* above;
  std::ptrdiff_t stride;
};

// For R rows together: result = centre(x, row, sums) + (across(x - 1) + across(x + 1)), where
// evaluate(value, near, far, row, x, centre, across) gets for each point the value itself, the sum
// of the four values one step away in y or z, and of the four two steps away (both), and emit(row,
// x, result) gets the result, in ascending order of x, one vector behind.
template <typename V, int R, typename Evaluate, typename Emit>
ASSAY_LANES_INLINE void for_points(const Around& around, int extent, Evaluate evaluate, Emit emit) {
  constexpr int width = kWidth<V>;
  struct Rows {
    V at[R];
  };
  const auto across_y_and_z = [&](int x, Rows& centre,
                                  Rows& across) __attribute__((always_inline)) {
    V here[R + 2];
    V beside[R + 2];
#pragma GCC unroll 8
    for (int k = 0; k < R + 2; ++k) {
      const std::ptrdiff_t at = (k - 1) * around.stride + x;
      here[k] = load<V>(around.here + at);
      beside[k] = load<V>(around.below + at) + load<V>(around.above + at);
    }
#pragma GCC unroll 8
    for (int k = 0; k < R; ++k) {
      evaluate(here[k + 1], here[k] + here[k + 2] + beside[k + 1], beside[k] + beside[k + 2], k, x,
               centre.at[k], across.at[k]);
    }
  };
  Rows centre;
  Rows next_centre;
  Rows before;
  Rows across;
  Rows after;
  Rows first;
  across_y_and_z(extent - width, centre, before);
  across_y_and_z(0, centre, across);
  first = across;
  for (int x = width; x < extent; x += width) {
    across_y_and_z(x, next_centre, after);
#pragma GCC unroll 8
    for (int k = 0; k < R; ++k) {
      emit(k, x - width,
           centre.at[k] + (lower_neighbours(before.at[k], across.at[k]) +
                           upper_neighbours(across.at[k], after.at[k])));
    }
    before = across;
    across = after;
    centre = next_centre;
  }
#pragma GCC unroll 8
  for (int k = 0; k < R; ++k) {
    emit(k, extent - width,
         centre.at[k] + (lower_neighbours(before.at[k], across.at[k]) +
                         upper_neighbours(across.at[k], first.at[k])));
  }
}

// The residual of R rows: right - A u. With Ahead, the rows `ahead` of the right-hand side that
// will be needed next are prefetched: the hardware doesn't, as rows are read in blocks of planes.
// Measured on Zen 5, class A: a fifth of the time of a sweep.
template <typename V, int R, bool Ahead>
void residual_rows(const Around& u, const double* const* right, const double* const* ahead,
                   double* const* result, int extent, const double* laplacian) {
  const double self = -laplacian[0];
  const double two = -laplacian[1];
  const double three = -laplacian[2];
  for_points<V, R>(
      u, extent,
      [&](V value, V near, V far, int row, int x, V& centre, V& across)
          __attribute__((always_inline)) {
            if constexpr (Ahead) __builtin_prefetch(ahead[row] + x);
            centre = load<V>(right[row] + x) + self * value + two * far;
            across = two * near + three * far;
          },
      [&](int row, int x, V value)
          __attribute__((always_inline)) { store(result[row] + x, value); });
}

// R rows of the smoothed u + S r. `u` may be `result`. Rows of `copy` that aren't null get the
// same, with stores that bypass the caches.
template <typename V, int R, bool Copy>
void smooth_rows(const Around& r, const double* const* u, double* const* result,
                 double* const* copy, int extent, const double* smoother) {
  const double self = smoother[0];
  const double one = smoother[1];
  const double two = smoother[2];
  for_points<V, R>(
      r, extent,
      [&](V value, V near, V far, int row, int x, V& centre, V& across)
          __attribute__((always_inline)) {
            centre = load<V>(u[row] + x) + self * value + one * near + two * far;
            across = one * value + two * near;
          },
      [&](int row, int x, V value) __attribute__((always_inline)) {
        store(result[row] + x, value);
        if constexpr (Copy) store(copy[row] + x, value);
      });
}

// A row of the trilinear interpolation of a coarse field, added to `base` if there is one: coarse
// point i coincides with fine point 2 i + 1. `rows` are the four coarse rows around the fine one;
// where it coincides with a coarse row or plane, rows are repeated. `ahead` is a row like `base`
// that will be needed next.
template <typename V, bool Add>
void interpolate_row(const double* const rows[4], const double* base, const double* ahead,
                     double* result, int coarse_extent) {
  constexpr int width = kWidth<V>;
  const auto coarse = [&](int i) __attribute__((always_inline)) {
    return 0.25 * ((load<V>(rows[0] + i) + load<V>(rows[1] + i)) +
                   (load<V>(rows[2] + i) + load<V>(rows[3] + i)));
  };
  V before = coarse(coarse_extent - width);
  for (int i = 0; i < coarse_extent; i += width) {
    const V here = coarse(i);
    const V between = 0.5 * (lower_neighbours(before, here) + here);
    before = here;
    V low;
    V high;
    if constexpr (width == 1) {
      low = between;
      high = here;
    } else {
      low = in_turns<0>(between, here);
      high = in_turns<width / 2>(between, here);
    }
    if constexpr (Add) {
      __builtin_prefetch(ahead + 2 * i);
      __builtin_prefetch(ahead + 2 * i + width);
      low += load<V>(base + 2 * i);
      high += load<V>(base + 2 * i + width);
    }
    store(result + 2 * i, low);
    store(result + 2 * i + width, high);
  }
}

// Sixteen times a row of the restriction in x and y: of three fine rows, weights 1, 2, 1 in each
// direction. combine(old, new) adds it to the coarse row.
template <typename V, typename Combine>
ASSAY_LANES_INLINE void restrict_rows(const double* low, const double* middle, const double* high,
                                      int coarse_extent, Combine combine) {
  constexpr int width = kWidth<V>;
  const auto fine = [&](int x) __attribute__((always_inline)) {
    return load<V>(low + x) + 2.0 * load<V>(middle + x) + load<V>(high + x);
  };
  // Points 2 i and 2 i + 1 of all lanes, from two vectors.
  const auto split = [&](int i, V& even, V& odd) __attribute__((always_inline)) {
    const V first = fine(2 * i);
    const V second = fine(2 * i + width);
    if constexpr (width == 1) {
      even = first;
      odd = second;
    } else {
      even = every<0, 2>(first, second);
      odd = every<1, 2>(first, second);
    }
  };
  V even;
  V odd;
  split(0, even, odd);
  const V first = even;
  for (int i = width; i < coarse_extent; i += width) {
    V next_even;
    V next_odd;
    split(i, next_even, next_odd);
    combine(i - width, even + 2.0 * odd + upper_neighbours(even, next_even));
    even = next_even;
    odd = next_odd;
  }
  combine(coarse_extent - width, even + 2.0 * odd + upper_neighbours(even, first));
}

}  // namespace assay::npb
