// The pseudo-random stream of HPC Challenge's RandomAccess, with jumps ahead.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace assay::random_access {

// Luszczek, Dongarra et al., Introduction to the HPC Challenge benchmark suite (2005): a(0) = 1,
// a(k + 1) = a(k) x in the field of polynomials over {0, 1} modulo x^64 + x^2 + x + 1, whose low
// part is 7.
constexpr std::uint64_t kPolynomial = 7;

constexpr std::uint64_t next(std::uint64_t a) {
  return (a << 1) ^ ((a >> 63) != 0 ? kPolynomial : 0);
}

constexpr std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) sum ^= a;
    a = next(a);
  }
  return sum;
}

// a(k): x to the power of k, by squaring.
constexpr std::uint64_t element(std::uint64_t k) {
  std::uint64_t power = 1;
  std::uint64_t square = 2;
  for (; k != 0; k >>= 1) {
    if ((k & 1) != 0) power = product(power, square);
    square = product(square, square);
  }
  return power;
}

// An element of a table of 2^n is selected by the highest n bits; the shift is 64 - n, for n of at
// least 1.
inline int shift_of(std::size_t elements) { return 64 - std::bit_width(elements - 1); }

// `count` updates from the element `a` of the stream on: T[highest bits of a] ^= a.
inline void update(std::uint64_t* table, int shift, std::uint64_t a, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    table[a >> shift] ^= a;
    a = next(a);
  }
}

}  // namespace assay::random_access
