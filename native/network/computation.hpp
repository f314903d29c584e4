// A computation in registers, without memory, whose result is known beforehand.
#pragma once

#include <algorithm>
#include <cstdint>

#include "harness/clock.hpp"

namespace assay {

// A linear congruential sequence (Knuth 1997, 3.2.1), modulo 2^64. Each step depends on the one
// before and touches no memory, so that nothing of it disturbs communication except the core that
// it occupies. Any element is known from the number of steps (3.2.1, equation 6), which shows that
// each step was made.
class Computation {
 public:
  void run(std::int64_t steps) {
    std::uint64_t x = state_;
    for (std::int64_t i = 0; i < steps; ++i) {
      x = x * kMultiplier + kIncrement;
      asm volatile("" : "+r"(x));  // the compiler must not join steps
    }
    state_ = x;
    steps_ += steps;
  }

  // Measures the steps per second in about 5 ms: the fastest of several rounds, since an
  // interruption can only make one slower.
  void calibrate() {
    constexpr int kRounds = 5;
    constexpr double kRound = 1e-3;
    std::int64_t steps = 1 << 10;
    double took = timed(steps);
    while (took < kRound) {
      steps *= 2;
      took = timed(steps);
    }
    for (int round = 1; round < kRounds; ++round) took = std::min(took, timed(steps));
    rate_ = static_cast<double>(steps) / took;
  }

  std::int64_t steps_in(double seconds) const { return static_cast<std::int64_t>(seconds * rate_); }

  // Whether the result is the expected one of all steps so far.
  bool right() const {
    std::uint64_t x = kSeed;
    std::uint64_t multiplier = kMultiplier;
    std::uint64_t increment = kIncrement;
    for (std::int64_t left = steps_; left > 0; left >>= 1) {
      if (left & 1) x = x * multiplier + increment;
      increment += multiplier * increment;
      multiplier *= multiplier;
    }
    return x == state_;
  }

  // A planted fault: counts a step that was not made.
  void miscount() { ++steps_; }

 private:
  static constexpr std::uint64_t kSeed = 1;
  static constexpr std::uint64_t kMultiplier = 6364136223846793005u;  // of Knuth's MMIX
  static constexpr std::uint64_t kIncrement = 1442695040888963407u;

  double timed(std::int64_t steps) {
    const Ticks begin = ticks();
    run(steps);
    return seconds(ticks() - begin);
  }

  std::uint64_t state_ = kSeed;
  std::int64_t steps_ = 0;
  double rate_ = 0.0;  // steps per second
};

}  // namespace assay
