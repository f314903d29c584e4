// Selection and ordering of ranks: by node, at random, or as given.
#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

// 0 … size - 1.
inline std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// The same members in an order that depends only on the seed, on every machine.
inline std::vector<int> shuffled(std::vector<int> members, std::uint64_t seed) {
  // Fisher and Yates written out: std::shuffle draws differently in each library. The remainder's
  // bias, members / 2^64, is negligible.
  std::mt19937_64 draw(seed);
  for (std::size_t left = members.size(); left > 1; --left) {
    std::swap(members[left - 1], members[draw() % left]);
  }
  return members;
}

// Parses "2-0-1", also with spaces or commas as separators. Throws KernelError, naming the
// parameter, for any other text, a rank that doesn't exist, or a rank named twice.
std::vector<int> read_ranks(const std::string& parameter, const std::string& text, int size);

// Seconds, rounded to picoseconds, so that records of thousands of numbers stay short.
double rounded(double seconds);

// A measurement's record stays below a megabyte with this many series of a single value.
constexpr std::size_t kMostSeries = 8192;

}  // namespace assay
