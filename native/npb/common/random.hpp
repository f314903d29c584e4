// The generator of the NAS Parallel Benchmarks (RNR-94-007, section 1.6.2):
// x_{k+1} = 5^13 x_k mod 2^46, with r_k = x_k 2^-46 in (0, 1). Integer arithmetic throughout, so
// the sequence is exact, and x_k for any k costs O(log k).
#pragma once

#include <cstdint>

namespace assay::npb {

inline constexpr std::uint64_t kMultiplier = 1220703125;  // 5^13
inline constexpr int kStateBits = 46;
inline constexpr std::uint64_t kStateMask = (std::uint64_t{1} << kStateBits) - 1;

// 2^46 divides 2^64, so the product's wrap-around at 64 bits doesn't affect the result.
constexpr std::uint64_t multiply_mod46(std::uint64_t a, std::uint64_t b) {
  return (a * b) & kStateMask;
}

// base^exponent mod 2^46, by repeated squaring.
constexpr std::uint64_t power_mod46(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (std::uint64_t square = base; exponent != 0; exponent >>= 1) {
    if (exponent & 1) result = multiply_mod46(result, square);
    square = multiply_mod46(square, square);
  }
  return result;
}

class Random46 {
 public:
  explicit constexpr Random46(std::uint64_t seed) : state_(seed & kStateMask) {}

  constexpr std::uint64_t state() const { return state_; }

  // Equivalent to `count` calls of next().
  constexpr void skip(std::uint64_t count) {
    state_ = multiply_mod46(state_, power_mod46(kMultiplier, count));
  }

  // Advances once and returns the new r in (0, 1), exactly.
  constexpr double next() {
    state_ = multiply_mod46(state_, kMultiplier);
    return static_cast<double>(state_) * 0x1p-46;
  }

 private:
  std::uint64_t state_;
};

}  // namespace assay::npb
