// Vectors as wide as this machine's registers, in the compilers' own vector types. Arithmetic,
// comparisons and selection are operators; this file adds the functions without an operator.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

namespace assay {

#if defined(__AVX512F__)
inline constexpr int kLanes = 8;
#elif defined(__AVX__)
inline constexpr int kLanes = 4;
#else
inline constexpr int kLanes = 2;
#endif

typedef double Doubles __attribute__((vector_size(8 * kLanes)));
typedef std::uint64_t Words __attribute__((vector_size(8 * kLanes)));
typedef std::int64_t Mask __attribute__((vector_size(8 * kLanes)));  // the result of a comparison

// Functions on vectors are always inlined: the baseline's calling convention can't pass wider
// vectors.
#define ASSAY_LANES_INLINE static inline __attribute__((always_inline))

ASSAY_LANES_INLINE Doubles broadcast(double value) { return Doubles{} + value; }
ASSAY_LANES_INLINE Words broadcast(std::uint64_t value) { return Words{} + value; }
ASSAY_LANES_INLINE Doubles as_doubles(Words bits) { return (Doubles)bits; }
ASSAY_LANES_INLINE Words as_words(Doubles values) { return (Words)values; }

// Load and store at any address, aligned or not. V: a vector, or a double for the rest of a row.
template <typename V = Doubles>
ASSAY_LANES_INLINE V load(const double* from) {
  V values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

template <typename V>
ASSAY_LANES_INLINE void store(double* to, V values) {
  std::memcpy(to, &values, sizeof values);
}

// Correctly rounded.
ASSAY_LANES_INLINE Doubles square_root(Doubles x) {
#if defined(__AVX512F__)
  // Keeps all lanes: the plain intrinsic causes a warning about an uninitialised vector in GCC 12's
  // header.
  return (Doubles)_mm512_maskz_sqrt_pd(0xff, (__m512d)x);
#elif defined(__AVX__)
  return (Doubles)_mm256_sqrt_pd((__m256d)x);
#elif defined(__x86_64__)
  return (Doubles)_mm_sqrt_pd((__m128d)x);
#elif defined(__aarch64__)
  return (Doubles)vsqrtq_f64((float64x2_t)x);
#else
  for (int lane = 0; lane < kLanes; ++lane) x[lane] = std::sqrt(x[lane]);
  return x;
#endif
}

ASSAY_LANES_INLINE double square_root(double x) { return std::sqrt(x); }

// Whether any lane of a comparison holds.
ASSAY_LANES_INLINE bool any(Mask mask) {
#if defined(__AVX512DQ__)
  return _mm512_movepi64_mask((__m512i)mask) != 0;
#elif defined(__AVX__) && !defined(__AVX512F__)
  return _mm256_movemask_pd((__m256d)mask) != 0;
#else
  std::int64_t together = 0;
  for (int lane = 0; lane < kLanes; ++lane) together |= mask[lane];
  return together != 0;
#endif
}

ASSAY_LANES_INLINE double sum_of_lanes(Doubles x) {
  double sum = 0.0;
  for (int lane = 0; lane < kLanes; ++lane) sum += x[lane];
  return sum;
}

ASSAY_LANES_INLINE std::uint64_t sum_of_lanes(Words x) {
  std::uint64_t sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) sum += x[lane];
  return sum;
}

// Natural logarithm of positive normal numbers, to under 1.5 units in the last place.
//
// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); with s = f / (2 + f),
//   log(1 + f) = 2 atanh(s) = f - s (f - R(s^2)),  R(z) = 2z/3 + 2z^2/5 + 2z^3/7 + ...
// R/z is the polynomial of degree 6 that meets the series at the seven Chebyshev points of
// [0, (3 - 2 sqrt(2))^2]; computed in rational arithmetic, |error of R| < 9.3e-18 there.
ASSAY_LANES_INLINE Doubles logarithm(Doubles x) {
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  constexpr double kLn2High = 0x1.62e42p-1;  // 21 bits, so that k times it is exact
  constexpr double kLn2Low = 0x1.fdf473de6af28p-22;
  // k arrives in the low bits of 1.5 * 2^52 + k: no conversion from 64-bit integers is needed.
  constexpr double kIntegers = 0x1.8p52;
  constexpr std::uint64_t kIntegersBits = 0x4338000000000000;

  const Words offset = as_words(x) - kSqrtHalf;
  const Words exponent = (Words)((Mask)offset >> 52);
  const Doubles f = as_doubles(as_words(x) - (exponent << 52)) - 1.0;
  const Doubles k = as_doubles(exponent + kIntegersBits) - kIntegers;

  const Doubles s = f / (2.0 + f);
  const Doubles z = s * s;
  Doubles r = broadcast(0x1.2b584add1c619p-3);
  r = r * z + 0x1.39fe60617ce73p-3;
  r = r * z + 0x1.7462b4ab4c062p-3;
  r = r * z + 0x1.c71c62e57fa3fp-3;
  r = r * z + 0x1.2492492df1492p-2;
  r = r * z + 0x1.99999999952e2p-2;
  r = r * z + 0x1.5555555555558p-1;
  r = r * z;
  return k * kLn2High + (f - (s * (f - r) - k * kLn2Low));
}

}  // namespace assay
