// Chains of fused multiply-adds that stay in registers, one type per vector width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace assay::fma {

// Each width defines: `Vector`, its bits, a vector of equal lanes, x * m + a, and one lane of it.
// keep() makes the compiler forget the value of x while x stays in its register: without it scalar
// chains would be gathered into vectors, and chains with equal start values would become one.
#if defined(__x86_64__) && defined(__FMA__)
struct Scalar {
  using Vector = double;
  static constexpr int kBits = 64;
  static Vector same(double x) { return x; }
  static Vector fused(Vector x, Vector m, Vector a) { return __builtin_fma(x, m, a); }
  static void keep(Vector& x) { asm volatile("" : "+v"(x)); }
};
struct Bits128 {
  using Vector = __m128d;
  static constexpr int kBits = 128;
  static Vector same(double x) { return _mm_set1_pd(x); }
  static Vector fused(Vector x, Vector m, Vector a) { return _mm_fmadd_pd(x, m, a); }
  static void keep(Vector& x) { asm volatile("" : "+v"(x)); }
};
struct Bits256 {
  using Vector = __m256d;
  static constexpr int kBits = 256;
  static Vector same(double x) { return _mm256_set1_pd(x); }
  static Vector fused(Vector x, Vector m, Vector a) { return _mm256_fmadd_pd(x, m, a); }
  static void keep(Vector& x) { asm volatile("" : "+v"(x)); }
};
#if defined(__AVX512F__)
struct Bits512 {
  using Vector = __m512d;
  static constexpr int kBits = 512;
  static Vector same(double x) { return _mm512_set1_pd(x); }
  static Vector fused(Vector x, Vector m, Vector a) { return _mm512_fmadd_pd(x, m, a); }
  static void keep(Vector& x) { asm volatile("" : "+v"(x)); }
};
constexpr int kWidest = 512;
#else
constexpr int kWidest = 256;
#endif
constexpr bool kFused = true;
#elif defined(__aarch64__)
struct Scalar {
  using Vector = double;
  static constexpr int kBits = 64;
  static Vector same(double x) { return x; }
  static Vector fused(Vector x, Vector m, Vector a) { return __builtin_fma(x, m, a); }
  static void keep(Vector& x) { asm volatile("" : "+w"(x)); }
};
struct Bits128 {
  using Vector = float64x2_t;
  static constexpr int kBits = 128;
  static Vector same(double x) { return vdupq_n_f64(x); }
  static Vector fused(Vector x, Vector m, Vector a) { return vfmaq_f64(a, x, m); }
  static void keep(Vector& x) { asm volatile("" : "+w"(x)); }
};
constexpr int kWidest = 128;
constexpr bool kFused = true;
#else
// A multiplication and an addition; the compiler chooses the instructions.
struct Scalar {
  using Vector = double;
  static constexpr int kBits = 64;
  static Vector same(double x) { return x; }
  static Vector fused(Vector x, Vector m, Vector a) { return x * m + a; }
  static void keep(Vector& x) { asm volatile("" : "+m"(x)); }
};
constexpr int kWidest = 64;
constexpr bool kFused = false;
#endif

// Number of independent chains: more than latency times pipes of any core in use (4 cycles x 4
// pipes), limited by the registers, of which the factor and the term take two.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kChains = 20;
#else
constexpr int kChains = 12;
#endif

// Instructions per operation and thread; a multiple of every kChains.
constexpr std::int64_t kInstructions = 60'000;
static_assert(kInstructions % kChains == 0);

// Advances every chain of `state` (kChains vectors) by count * kInstructions / kChains steps of x
// <- x * factor + term. The chains are written out by index, because compilers keep an array that a
// loop runs over in memory.
template <typename Width, std::size_t... kIndex>
void advance(typename Width::Vector* state, std::int64_t count, double factor, double term,
             std::index_sequence<kIndex...>) {
  typename Width::Vector x[] = {state[kIndex]...};
  const auto m = Width::same(factor);
  const auto a = Width::same(term);
  for (std::int64_t step = count * (kInstructions / kChains); step > 0; --step) {
    ((x[kIndex] = Width::fused(x[kIndex], m, a)), ...);
    (Width::keep(x[kIndex]), ...);
  }
  ((state[kIndex] = x[kIndex]), ...);
}

}  // namespace assay::fma
