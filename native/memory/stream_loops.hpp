// STREAM's four operations and their loops. Arithmetic only: no clock, no MPI.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace assay::stream {

// The operations: destination = of(x, y, scalar), for numbers and vectors alike. `reads` is the
// number of arrays read, `flops` that of floating-point operations, each rounding once.
struct Copy {
  static constexpr std::string_view name = "copy";
  static constexpr int reads = 1;
  static constexpr int flops = 0;
  template <class T>
  static T of(T x, T, T) {
    return x;
  }
};

struct Scale {
  static constexpr std::string_view name = "scale";
  static constexpr int reads = 1;
  static constexpr int flops = 1;
  template <class T>
  static T of(T x, T, T scalar) {
    return scalar * x;
  }
};

struct Sum {
  static constexpr std::string_view name = "sum";
  static constexpr int reads = 2;
  static constexpr int flops = 1;
  template <class T>
  static T of(T x, T y, T) {
    return x + y;
  }
};

struct Triad {
  static constexpr std::string_view name = "triad";
  static constexpr int reads = 2;
  static constexpr int flops = 2;
  template <class T>
  static T of(T x, T y, T scalar) {
    return x + scalar * y;
  }
};

// One thread's part of one pass: n elements. Operations that read one array ignore `y`.
using Pass = void (*)(double* to, const double* x, const double* y, double scalar, std::size_t n);

// The reference, and also the tuned loop for ordinary stores: compilers vectorise it.
template <class Op>
void ordinary_pass(double* __restrict to, const double* __restrict x, const double* __restrict y,
                   double scalar, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (Op::reads == 2) {
      to[i] = Op::of(x[i], y[i], scalar);
    } else {
      to[i] = Op::of(x[i], 0.0, scalar);
    }
  }
}

// Vector units with stores that bypass the caches.
#if defined(__SSE2__)
struct Sse2 {
  using Vector = __m128d;
  static void store_past_caches(double* to, Vector value) { _mm_stream_pd(to, value); }
};
#endif
#if defined(__AVX__)
struct Avx {
  using Vector = __m256d;
  static void store_past_caches(double* to, Vector value) { _mm256_stream_pd(to, value); }
};
#endif
#if defined(__AVX512F__)
struct Avx512 {
  using Vector = __m512d;
  static void store_past_caches(double* to, Vector value) { _mm512_stream_pd(to, value); }
};
#endif

#if defined(__SSE2__)

// The same with stores that bypass the caches, which saves reading the lines to overwrite. They
// need aligned addresses: elements before the first aligned address and after the last whole step
// take the ordinary loop. A step is four vectors, loaded together, then stored together, so that
// the stores to a cache line follow one another and are written as one. Software prefetch, wider
// steps and shifted arrays were tried without any gain.
template <class Op, class Unit>
void nontemporal_pass(double* __restrict to, const double* __restrict x, const double* __restrict y,
                      double scalar, std::size_t n) {
  using Vector = typename Unit::Vector;
  constexpr std::size_t width = sizeof(Vector) / sizeof(double);
  constexpr std::size_t vectors = 4;
  constexpr std::size_t step = vectors * width;
  typedef Vector Unaligned __attribute__((aligned(sizeof(double))));

  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(to) % sizeof(Vector) / sizeof(double);
  const std::size_t head = std::min(n, (width - beyond) % width);
  const std::size_t body_end = head + (n - head) / step * step;
  ordinary_pass<Op>(to, x, y, scalar, head);

  const Vector scalars = scalar - Vector{};
  for (std::size_t i = head; i < body_end; i += step) {
    Vector results[vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      const std::size_t at = i + v * width;
      const Vector from_x = *reinterpret_cast<const Unaligned*>(x + at);
      if constexpr (Op::reads == 2) {
        const Vector from_y = *reinterpret_cast<const Unaligned*>(y + at);
        results[v] = Op::of(from_x, from_y, scalars);
      } else {
        results[v] = Op::of(from_x, Vector{}, scalars);
      }
    }
#pragma GCC unroll 4
    for (std::size_t v = 0; v < vectors; ++v) {
      Unit::store_past_caches(to + i + v * width, results[v]);
    }
  }
  _mm_sfence();  // nothing else orders such stores

  const double* const y_tail = Op::reads == 2 ? y + body_end : y;
  ordinary_pass<Op>(to + body_end, x + body_end, y_tail, scalar, n - body_end);
}

#endif

// Content of the input arrays: exact, between 1 and 2, and different for elements a line, a page or
// a chunk apart, so that a misplaced element shows.
inline double pattern(std::size_t index) {
  const std::size_t mixed = (index ^ (index >> 10) ^ (index >> 20)) & 1023;
  return 1.0 + static_cast<double>(static_cast<std::int32_t>(mixed)) * 0x1p-10;
}
inline double x_value(std::size_t index) { return pattern(index); }
inline double y_value(std::size_t index) { return 1.0 + pattern(3 * index + 1); }

// The scalar of the pass after `passes` others: it changes, so that the result shows how many
// passes were made.
inline double scalar_of_pass(std::int64_t passes) {
  return 3.0 + static_cast<double>(passes & 7) * 0x1p-3;
}

// Deviation of results from the expected values. NaN is counted separately: no comparison would
// find it.
struct Errors {
  double greatest = 0.0;  // relative
  std::int64_t not_numbers = 0;

  void add(double found, double expected) {
    const double error = std::abs((found - expected) / expected);
    greatest = error > greatest ? error : greatest;
    not_numbers += error != error ? 1 : 0;
  }
};

// Adds the errors of the n elements at `to`, the first of which has that index, after a pass with
// that scalar.
template <class Op>
Errors check(const double* to, std::size_t first, std::size_t n, double scalar) {
  double greatest = 0.0;
  std::int64_t not_numbers = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double expected = Op::of(x_value(first + i), y_value(first + i), scalar);
    const double error = std::abs(to[i] - expected) / expected;
    greatest = error > greatest ? error : greatest;
    not_numbers += error != error ? 1 : 0;
  }
  return {greatest, not_numbers};
}

// An implementation of an operation. vector_bits is 0 where the compiler chooses.
struct Variant {
  std::string_view stores;
  int vector_bits;
  Pass pass;
};

struct Operation {
  std::string_view name;
  int reads;
  int flops;
  Errors (*check)(const double* to, std::size_t first, std::size_t n, double scalar);
  std::vector<Variant> variants;  // the first is the reference
};

template <class Op>
Operation operation() {
  std::vector<Variant> variants{{"ordinary", 0, ordinary_pass<Op>}};
#if defined(__SSE2__) && !defined(__AVX__)
  variants.push_back({"nontemporal", 128, nontemporal_pass<Op, Sse2>});
#endif
#if defined(__AVX__)
  variants.push_back({"nontemporal", 256, nontemporal_pass<Op, Avx>});
#endif
#if defined(__AVX512F__)
  variants.push_back({"nontemporal", 512, nontemporal_pass<Op, Avx512>});
#endif
  return {Op::name, Op::reads, Op::flops, check<Op>, std::move(variants)};
}

// The table of all operations.
inline const std::array<Operation, 4>& operations() {
  static const std::array<Operation, 4> table{operation<Copy>(), operation<Scale>(),
                                              operation<Sum>(), operation<Triad>()};
  return table;
}

}  // namespace assay::stream
