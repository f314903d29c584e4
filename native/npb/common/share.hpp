// Contiguous shares of a range.
#pragma once

#include <cstdint>

namespace assay::npb {

struct Share {
  std::uint64_t begin;
  std::uint64_t end;
};

constexpr std::uint64_t size_of(Share share) { return share.end - share.begin; }

// Share `part` of `parts` of begin..end: shares differ by one at most.
constexpr Share share_of(Share whole, std::uint64_t part, std::uint64_t parts) {
  const std::uint64_t size = size_of(whole);
  const auto limit = [&](std::uint64_t p) {
    return whole.begin + size / parts * p + size % parts * p / parts;
  };
  return {limit(part), limit(part + 1)};
}

}  // namespace assay::npb
