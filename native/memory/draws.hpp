// Pseudo-random numbers from a seed, without high demands on quality.
#pragma once

#include <cstdint>

namespace assay {

// The finaliser of SplitMix64 (Steele, Lea & Flood 2014, figure 17): a bijection, in which
// neighbouring numbers differ in all of their bytes.
inline std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// The distance between the states of SplitMix64.
inline constexpr std::uint64_t kDrawStep = 0x9e3779b97f4a7c15U;

// SplitMix64.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return mixed(state_ += kDrawStep); }

  // Uniform below n, up to a bias of n / 2^64.
  std::uint64_t below(std::uint64_t n) { return next() % n; }

 private:
  std::uint64_t state_;
};

// Equal in each launch with that seed for the same rank, different on each rank.
inline Draws draws_of_rank(std::uint64_t seed, int rank) {
  return Draws(seed * 1'000'003 + static_cast<std::uint64_t>(rank));
}

}  // namespace assay
