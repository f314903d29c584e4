// Work of known amount and result, which the noise kernels give to every rank.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace assay {

// A chain x <- a x + c modulo 2^64, in which each step depends on the one before. It stays in
// registers, so caches, memory and network don't affect its duration. Something else took any time
// beyond the minimum.
class FixedWork {
 public:
  explicit FixedWork(std::uint64_t seed) : first_(seed), state_(seed) {}

  void steps(std::int64_t count) {
    std::uint64_t x = state_;
    for (std::int64_t i = 0; i < count; ++i) {
      x = kFactor * x + kSummand;
      asm volatile("" : "+r"(x));  // no compiler may fold two steps into one
    }
    state_ = x;
    done_ += static_cast<std::uint64_t>(count);
  }

  std::uint64_t done() const { return done_; }

  // Whether the value is right for the number of completed steps, computed by a different method.
  bool right() const { return state_ == after(first_, done_); }

  // For tests: makes the result wrong.
  void damage() { state_ ^= 1; }

  // The value after `count` steps by repeated squaring: two successive maps x -> a x + c are one
  // such map.
  static std::uint64_t after(std::uint64_t x, std::uint64_t count) {
    std::uint64_t factor = kFactor;
    std::uint64_t summand = kSummand;
    for (; count > 0; count >>= 1) {
      if (count & 1) x = factor * x + summand;
      summand = factor * summand + summand;
      factor *= factor;
    }
    return x;
  }

 private:
  // MMIX (Knuth, The Art of Computer Programming, vol. 2, 3rd ed., table 3.3.4-1, line 26).
  static constexpr std::uint64_t kFactor = 6364136223846793005ULL;
  static constexpr std::uint64_t kSummand = 1442695040888963407ULL;

  std::uint64_t first_;
  std::uint64_t state_;
  std::uint64_t done_ = 0;
};

// Collective. The number of steps that take the fastest rank this many seconds without
// interruption: the same on all ranks, so that a slower core shows.
std::int64_t steps_lasting(MPI_Comm comm, double seconds, FixedWork& work);

}  // namespace assay
