// Fourier transforms of kLanes lines concurrently, one line per lane: no shuffles in any stage. Or
// of a single line, in plain code.
//
// Radix 8, with a first stage of 2 or 4 if the size requires it; decimation in frequency (Cooley
// and Tukey 1965; Gentleman and Sande 1966). With n = r_1 r_2 ... r_s, stage i transforms over the
// i-th digit of the position, the highest first, and replaces it by the i-th digit of the
// frequency, the lowest first; the last stage puts each value in the place of its frequency. So the
// first stage reads its input from any location and the last one writes its output to any location,
// and all stages in between work in one array that fits the first-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "compute/lanes.hpp"

namespace assay::npb {

// Complex numbers from different lines: one per lane of V, or one if V is double.
template <typename V>
struct PacketOf {
  V re;
  V im;
};
using Packet = PacketOf<Doubles>;

// For functions and lambdas that pass packets: they must not become calls.
#define ASSAY_INLINE inline __attribute__((always_inline))
#define ASSAY_INLINE_LAMBDA __attribute__((always_inline))

// Transforms over e^(-2 pi i / size) and its conjugate, both unscaled.
class Fft {
 public:
  // A power of two, at least 16.
  explicit Fft(std::uint32_t size);

  std::uint32_t size() const { return size_; }

  // load(j) returns the packet at position j, store(k, packet) takes the one of frequency k; each
  // is called once per index. All loads precede the first store. `work` has room for size()
  // packets; load(j) may read work[j], but no other element of it.
  template <bool kInverse, typename P, typename Load, typename Store>
  void transform(P* work, Load load, Store store) const {
    if (first_radix_ == 2) {
      first<2, kInverse>(work, load);
    } else if (first_radix_ == 4) {
      first<4, kInverse>(work, load);
    } else {
      first<8, kInverse>(work, load);
    }
    const double* roots = roots_.data() + 2 * (first_radix_ - 1) * (size_ / first_radix_);
    std::size_t length = size_ / first_radix_;
    for (; length > kRadix; length /= kRadix) {
      for (std::size_t begin = 0; begin < size_; begin += length) {
        middle(work + begin, length / kRadix, roots);
      }
      roots += 2 * (kRadix - 1) * (length / kRadix);
    }
    last<kInverse>(work, store);
  }

 private:
  static constexpr std::size_t kRadix = 8;

  // The inverse transform is the forward one of numbers whose parts are swapped, swapped back.
  template <bool kSwap, typename P>
  static ASSAY_INLINE P oriented(P x) {
    if constexpr (kSwap) return {x.im, x.re};
    return x;
  }
  template <typename P>
  static ASSAY_INLINE P sum(P a, P b) {
    return {a.re + b.re, a.im + b.im};
  }
  template <typename P>
  static ASSAY_INLINE P difference(P a, P b) {
    return {a.re - b.re, a.im - b.im};
  }
  template <typename P>
  static ASSAY_INLINE P times_minus_i(P a) {
    return {a.im, -a.re};
  }
  template <typename P>
  static ASSAY_INLINE P times(P a, const double* root) {
    return {a.re * root[0] - a.im * root[1], a.re * root[1] + a.im * root[0]};
  }

  template <typename P>
  static ASSAY_INLINE void transform2(P& a, P& b) {
    const P s = sum(a, b);
    b = difference(a, b);
    a = s;
  }
  template <typename P>
  static ASSAY_INLINE void transform4(P& a, P& b, P& c, P& d) {
    transform2(a, c);
    transform2(b, d);
    const P turned = times_minus_i(d);
    const P evens = b;
    b = sum(c, turned);
    d = difference(c, turned);
    c = difference(a, evens);
    a = sum(a, evens);
  }

  // In place, in order of frequency.
  template <int kSize, typename P>
  static ASSAY_INLINE void transform_few(P* x) {
    if constexpr (kSize == 2) {
      transform2(x[0], x[1]);
    } else if constexpr (kSize == 4) {
      transform4(x[0], x[1], x[2], x[3]);
    } else {
      constexpr double kHalfRoot = 0.70710678118654752440;  // sqrt(1/2)
      for (int k = 0; k < 4; ++k) transform2(x[k], x[k + 4]);
      x[5] = {(x[5].re + x[5].im) * kHalfRoot, (x[5].im - x[5].re) * kHalfRoot};
      x[6] = times_minus_i(x[6]);
      x[7] = {(x[7].im - x[7].re) * kHalfRoot, (x[7].re + x[7].im) * -kHalfRoot};
      transform4(x[0], x[1], x[2], x[3]);
      transform4(x[4], x[5], x[6], x[7]);
      const P y[8] = {x[0], x[4], x[1], x[5], x[2], x[6], x[3], x[7]};
      for (int k = 0; k < 8; ++k) x[k] = y[k];
    }
  }

  template <int kSize, bool kInverse, typename P, typename Load>
  void first(P* work, Load load) const {
    const double* roots = roots_.data();
    const std::size_t rest = size_ / kSize;
    for (std::size_t j = 0; j < rest; ++j) {
      P x[kSize];
#pragma GCC unroll 8
      for (int k = 0; k < kSize; ++k) x[k] = oriented<kInverse>(load(j + k * rest));
      transform_few<kSize>(x);
      work[j] = x[0];
#pragma GCC unroll 8
      for (int k = 1; k < kSize; ++k, roots += 2) work[j + k * rest] = times(x[k], roots);
    }
  }

  template <typename P>
  static void middle(P* work, std::size_t rest, const double* roots) {
    for (std::size_t j = 0; j < rest; ++j) {
      P x[kRadix];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kRadix; ++k) x[k] = work[j + k * rest];
      transform_few<kRadix>(x);
      work[j] = x[0];
#pragma GCC unroll 8
      for (std::size_t k = 1; k < kRadix; ++k, roots += 2) {
        work[j + k * rest] = times(x[k], roots);
      }
    }
  }

  template <bool kInverse, typename P, typename Store>
  void last(const P* work, Store store) const {
    const std::size_t lines = size_ / kRadix;
    for (std::size_t low = 0; low < lines; ++low) {
      const P* from = work + groups_[low];
      P x[kRadix];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kRadix; ++k) x[k] = from[k];
      transform_few<kRadix>(x);
#pragma GCC unroll 8
      for (std::size_t k = 0; k < kRadix; ++k) store(low + k * lines, oriented<kInverse>(x[k]));
    }
  }

  std::uint32_t size_;
  std::uint32_t first_radix_;
  // For each stage but the last, for each position within: the powers 1 to r - 1 of its root.
  std::vector<double> roots_;
  // Positions in `work` where the last stage finds the values of frequencies k, k + n/8, k + 2n/8
  // ...
  std::vector<std::uint32_t> groups_;
};

// Rows become columns: lane i of row j goes to lane j of row i.
template <int kBit, std::size_t... kLane>
ASSAY_LANES_INLINE void exchange_lanes(Doubles& a, Doubles& b, std::index_sequence<kLane...>) {
  const Doubles low =
      __builtin_shufflevector(a, b, (kLane & kBit ? kLanes + kLane - kBit : kLane)...);
  b = __builtin_shufflevector(a, b, (kLane & kBit ? kLanes + kLane : kLane + kBit)...);
  a = low;
}

template <int kBit = 1>
ASSAY_LANES_INLINE void transpose_lanes(Doubles* rows) {
  if constexpr (kBit < kLanes) {
#pragma GCC unroll 8
    for (int row = 0; row < kLanes; ++row) {
      if ((row & kBit) == 0) {
        exchange_lanes<kBit>(rows[row], rows[row + kBit], std::make_index_sequence<kLanes>());
      }
    }
    transpose_lanes<2 * kBit>(rows);
  }
}

ASSAY_LANES_INLINE void transpose_packets(Packet* rows) {
  Doubles re[kLanes];
  Doubles im[kLanes];
#pragma GCC unroll 8
  for (int row = 0; row < kLanes; ++row) {
    re[row] = rows[row].re;
    im[row] = rows[row].im;
  }
  transpose_lanes(re);
  transpose_lanes(im);
#pragma GCC unroll 8
  for (int row = 0; row < kLanes; ++row) rows[row] = {re[row], im[row]};
}

// Bypasses the caches, for data that is not read again soon; store_fence() before others read it.
ASSAY_LANES_INLINE void store_past_caches(Packet* place, Packet value) {
#if defined(__AVX512F__)
  _mm512_stream_pd(reinterpret_cast<double*>(place), (__m512d)value.re);
  _mm512_stream_pd(reinterpret_cast<double*>(place) + kLanes, (__m512d)value.im);
#elif defined(__AVX__)
  _mm256_stream_pd(reinterpret_cast<double*>(place), (__m256d)value.re);
  _mm256_stream_pd(reinterpret_cast<double*>(place) + kLanes, (__m256d)value.im);
#elif defined(__x86_64__)
  _mm_stream_pd(reinterpret_cast<double*>(place), (__m128d)value.re);
  _mm_stream_pd(reinterpret_cast<double*>(place) + kLanes, (__m128d)value.im);
#else
  *place = value;
#endif
}

// Into the first-level cache, for the line after the present one; the address need not be valid.
ASSAY_LANES_INLINE void prefetch(const Packet* place) {
  constexpr std::size_t kCacheLine = 64;
  for (std::size_t byte = 0; byte < sizeof(Packet); byte += kCacheLine) {
    __builtin_prefetch(reinterpret_cast<const char*>(place) + byte);
  }
}

inline void store_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace assay::npb
