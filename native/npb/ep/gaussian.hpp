// The work of EP: Gaussian deviates by the polar method, their sums, and their counts per square
// annulus (RNR-94-007, section 2.1).
#pragma once

#include <array>
#include <cstdint>

namespace assay::npb {

inline constexpr std::uint64_t kEpSeed = 271828183;
#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/ep/constants.def"
#undef NPB_CONSTANT

struct GaussianSums {
  double x = 0.0;
  double y = 0.0;
  std::array<std::uint64_t, kAnnuli> counts{};  // l <= max(|X|, |Y|) < l + 1

  GaussianSums& operator+=(const GaussianSums& other);
};

// Pairs first .. first + count - 1 of the sequence that `seed` starts, in vectors. Pair j uses the
// random numbers 2j + 1 and 2j + 2, the first after the seed being number 1.
GaussianSums gaussian_pairs(std::uint64_t seed, std::uint64_t first, std::uint64_t count);

// The same, pair by pair with the standard library's functions: the reference for the function
// above.
GaussianSums gaussian_pairs_plain(std::uint64_t seed, std::uint64_t first, std::uint64_t count);

}  // namespace assay::npb
