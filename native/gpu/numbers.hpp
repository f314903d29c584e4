// Numbers of short types as bits, by IEEE 754-2019 (binary16), bfloat16, and the Open Compute
// Project's 8-bit floating point specification (OFP8, 2023; E4M3).
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace assay::gpu {

// A floating-point type: a sign, the exponent plus a bias, and the bits of the significand that
// follow the leading one.
struct ShortFloat {
  int exponent_bits;
  int stored_bits;
  int bias;
};

inline constexpr ShortFloat kHalf{5, 10, 15}, kBrain{8, 7, 127}, kEightBits{4, 3, 7},
    kEightBitsBiasedBy8{4, 3, 8};

// The bits of a number that the type has. Zero is positive.
inline std::uint32_t bits_of(double value, const ShortFloat& type) {
  if (value == 0.0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const int biased = exponent - 1 + type.bias;
  const std::uint32_t magnitude =
      biased >= 1
          ? (static_cast<std::uint32_t>(biased) << type.stored_bits) |
                static_cast<std::uint32_t>(std::ldexp(2.0 * fraction - 1.0, type.stored_bits))
          : static_cast<std::uint32_t>(
                std::ldexp(std::abs(value), type.stored_bits + type.bias - 1));
  const std::uint32_t sign = value < 0 ? 1U : 0U;
  return magnitude | (sign << (type.exponent_bits + type.stored_bits));
}

// The number of these bits, in a type with infinities and NaN (IEEE 754).
inline double number_of(std::uint32_t bits, const ShortFloat& type) {
  const std::uint32_t most = (1U << type.exponent_bits) - 1;
  const std::uint32_t stored = bits & ((1U << type.stored_bits) - 1);
  const std::uint32_t biased = (bits >> type.stored_bits) & most;
  const double sign = (bits >> (type.exponent_bits + type.stored_bits)) & 1U ? -1.0 : 1.0;
  if (biased == most) {
    return sign * (stored == 0 ? std::numeric_limits<double>::infinity()
                               : std::numeric_limits<double>::quiet_NaN());
  }
  const double whole = biased == 0 ? stored : stored + (1U << type.stored_bits);
  const int exponent = (biased == 0 ? 1 : static_cast<int>(biased)) - type.bias - type.stored_bits;
  return sign * std::ldexp(whole, exponent);
}

}  // namespace assay::gpu
