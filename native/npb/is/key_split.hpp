// Splits keys by whether they are in a range.
#pragma once

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

namespace assay::npb {

// Whether sixteen keys are split per instruction.
#if defined(__AVX512F__)
inline constexpr bool kSplitsVectors = true;
#else
inline constexpr bool kSplitsVectors = false;
#endif

// Keys per split: the output for this many fits the first-level cache.
inline constexpr std::size_t kSplitKeys = 1024;

// The keys in the range and the others, in their order; the content beyond the counts is undefined.
struct SplitKeys {
  static constexpr std::size_t kRoom = kSplitKeys + 16;  // whole vectors are written

  alignas(64) std::uint32_t inside[kRoom];
  alignas(64) std::uint32_t outside[kRoom];
  std::size_t insides;
  std::size_t outsides;
};

// Splits `count` keys, at most kSplitKeys, by whether they are in the range of `values` values from
// `lowest` on. The key determines where it is written, without a branch: that would be mispredicted
// half the time.
inline void split(const std::uint32_t* keys, std::size_t count, std::uint32_t lowest,
                  std::uint32_t values, SplitKeys& to) {
  to.insides = to.outsides = 0;
  std::size_t i = 0;
#if defined(__AVX512F__)
  const __m512i from = _mm512_set1_epi32(static_cast<int>(lowest));
  const __m512i width = _mm512_set1_epi32(static_cast<int>(values));
  for (; i + 16 <= count; i += 16) {
    const __m512i key = _mm512_loadu_si512(keys + i);
    // For lesser keys the difference wraps around and is large.
    const __mmask16 is_inside = _mm512_cmplt_epu32_mask(_mm512_sub_epi32(key, from), width);
    // Compressed in a register first: compression to memory is many times slower on some
    // processors.
    _mm512_storeu_si512(to.inside + to.insides, _mm512_maskz_compress_epi32(is_inside, key));
    _mm512_storeu_si512(to.outside + to.outsides,
                        _mm512_maskz_compress_epi32(static_cast<__mmask16>(~is_inside), key));
    const auto found = static_cast<std::size_t>(std::popcount(static_cast<unsigned>(is_inside)));
    to.insides += found;
    to.outsides += 16 - found;
  }
#endif
  for (; i < count; ++i) {
    const bool is_inside = keys[i] - lowest < values;
    to.inside[to.insides] = keys[i];
    to.outside[to.outsides] = keys[i];
    to.insides += is_inside;
    to.outsides += !is_inside;
  }
}

}  // namespace assay::npb
