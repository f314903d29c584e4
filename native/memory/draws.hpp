// Pseudo-random numbers from a seed, without high demands on quality.
#pragma once

#include <cstdint>

namespace assay {

// splitmix64 (Steele, Lea & Flood 2014).
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

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
