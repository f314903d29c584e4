// Transposes and moves square tiles, of as many vectors as a vector has lanes.
#pragma once

#include <utility>

#include "compute/lanes.hpp"

namespace assay::npb {

// Lanes begin .. end - 1 alone; 0 <= begin, end <= kLanes, none if end <= begin.
ASSAY_LANES_INLINE void store_lanes(double* to, Doubles values, int begin, int end) {
#if defined(__AVX512F__)
  const unsigned up_to_end = end <= 0 ? 0U : (1U << end) - 1U;
  const unsigned mask = up_to_end & ~((1U << begin) - 1U);
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), (__m512d)values);
#else
  for (int lane = begin; lane < end; ++lane) to[lane] = values[lane];
#endif
}

namespace detail {

// One step of a transposition: exchanges blocks of `kHalf` lanes between the two.
template <int kHalf, int... kLane>
ASSAY_LANES_INLINE void exchange_blocks(Doubles& a, Doubles& b,
                                        std::integer_sequence<int, kLane...>) {
  const Doubles low =
      __builtin_shufflevector(a, b, ((kLane & kHalf) != 0 ? kLanes + kLane - kHalf : kLane)...);
  const Doubles high =
      __builtin_shufflevector(a, b, ((kLane & kHalf) != 0 ? kLanes + kLane : kLane + kHalf)...);
  a = low;
  b = high;
}

template <int kHalf>
ASSAY_LANES_INLINE void transpose_from(Doubles* tile) {
  if constexpr (kHalf > 0) {
#pragma GCC unroll 8
    for (int i = 0; i < kLanes; ++i) {
      if ((i & kHalf) == 0) {
        exchange_blocks<kHalf>(tile[i], tile[i + kHalf], std::make_integer_sequence<int, kLanes>{});
      }
    }
    transpose_from<kHalf / 2>(tile);
  }
}

template <int... kLane>
ASSAY_LANES_INLINE Doubles follow(Doubles before, Doubles values,
                                  std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(before, values, (kLanes - 1 + kLane)...);
}

}  // namespace detail

// Lane j of vector i becomes lane i of vector j.
ASSAY_LANES_INLINE void transpose(Doubles* tile) { detail::transpose_from<kLanes / 2>(tile); }

// The lanes shifted up by one; the last lane of `before` comes first.
ASSAY_LANES_INLINE Doubles follow(Doubles before, Doubles values) {
  return detail::follow(before, values, std::make_integer_sequence<int, kLanes>{});
}

}  // namespace assay::npb
