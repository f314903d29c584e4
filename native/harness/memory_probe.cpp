#include "harness/memory_probe.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <limits>

#include "harness/clock.hpp"

namespace assay {

#if defined(__x86_64__) || defined(__aarch64__)
namespace {

constexpr std::size_t kLines = 32;
constexpr int kRounds = 3;

// Far enough apart for no prefetcher to fetch a neighbour, on few enough pages for the TLB.
struct alignas(1024) Line {
  const volatile Line* next;
};

void flush(const volatile Line* line) {
#if defined(__x86_64__)
  _mm_clflush(const_cast<const Line*>(line));
#else
  asm volatile("dc civac, %0" ::"r"(line) : "memory");
#endif
}

void wait_for_flushes() {
#if defined(__x86_64__)
  _mm_mfence();
#else
  asm volatile("dsb ish" ::: "memory");
#endif
}

}  // namespace

std::optional<double> memory_latency() {
  static std::array<Line, kLines> lines;
  // i -> 13 i + 7 modulo 32 visits all of them, with no constant step (Hull & Dobell 1962).
  for (std::size_t i = 0; i < kLines; ++i) lines[i].next = &lines[(13 * i + 7) % kLines];
  Ticks best = std::numeric_limits<Ticks>::max();
  for (int round = 0; round < kRounds; ++round) {
    for (const Line& line : lines) flush(&line);
    wait_for_flushes();
    const volatile Line* at = lines.data();
    const Ticks before = ticks();
    for (std::size_t i = 0; i < kLines; ++i) at = at->next;
    asm volatile("" ::"r"(at));  // ticks() must not begin before the last load has come
    best = std::min(best, ticks() - before);
  }
  return seconds(best) / static_cast<double>(kLines);
}
#else
std::optional<double> memory_latency() { return std::nullopt; }
#endif

}  // namespace assay
