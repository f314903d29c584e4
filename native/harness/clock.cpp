#include "harness/clock.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace assay {

ClockQuality measure_clock() {
  constexpr int kBlocks = 21;
  constexpr int kCalls = 100;
  std::array<double, kBlocks> means;
  std::array<Ticks, kCalls> reads;
  Ticks step = std::numeric_limits<Ticks>::max();
  for (double& mean : means) {
    for (Ticks& read : reads) read = ticks();
    mean = seconds(reads.back() - reads.front()) / (kCalls - 1);
    for (int i = 1; i < kCalls; ++i) {
      const Ticks difference = reads[i] - reads[i - 1];
      if (difference > 0) step = std::min(step, difference);
    }
  }
  std::nth_element(means.begin(), means.begin() + kBlocks / 2, means.end());
  timespec nominal{};
  clock_getres(CLOCK_MONOTONIC, &nominal);
  const double resolution = step < std::numeric_limits<Ticks>::max()
                                ? seconds(step)
                                : static_cast<double>(nominal.tv_sec) + 1e-9 * nominal.tv_nsec;
  return {means[kBlocks / 2], resolution};
}

namespace {

#if defined(__x86_64__)
#define ASSAY_ADD "add %1, %0\n\t"
#elif defined(__aarch64__)
#define ASSAY_ADD "add %0, %0, %1\n\t"
#endif

#ifdef ASSAY_ADD
#define ASSAY_ADD_4 ASSAY_ADD ASSAY_ADD ASSAY_ADD ASSAY_ADD
#define ASSAY_ADD_16 ASSAY_ADD_4 ASSAY_ADD_4 ASSAY_ADD_4 ASSAY_ADD_4
constexpr int kAdditionsPerTurn = 64;

void dependent_additions(int turns) {
  std::uint64_t sum = 0;
  const std::uint64_t one = 1;
  for (int turn = 0; turn < turns; ++turn) {
    asm volatile(ASSAY_ADD_16 ASSAY_ADD_16 ASSAY_ADD_16 ASSAY_ADD_16 : "+r"(sum) : "r"(one) : "cc");
  }
}
#endif

}  // namespace

std::optional<double> clock_rate() {
#ifdef ASSAY_ADD
  constexpr int kTurns = 1000;  // 64,000 cycles: 20 µs at 3.2 GHz
  constexpr int kRounds = 5;
  Ticks best = std::numeric_limits<Ticks>::max();
  for (int round = 0; round < kRounds; ++round) {
    const Ticks before = ticks();
    dependent_additions(kTurns);
    best = std::min(best, ticks() - before);
  }
  if (best <= 0) return std::nullopt;
  return kTurns * static_cast<double>(kAdditionsPerTurn) / seconds(best);
#else
  return std::nullopt;
#endif
}

}  // namespace assay
