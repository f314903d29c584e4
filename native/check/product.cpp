// Products of matrices on all cores: each core multiplies its own, which lie in its caches.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "check/array.hpp"
#include "check/component.hpp"
#include "check/slots.hpp"
#include "compute/lanes.hpp"
#include "memory/draws.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay::check {
namespace {

// A tile of the result stays in registers: kTileVectors x kTileColumns sums, more than latency
// times pipes of any core in use, beside which a column of the left matrix and one number of the
// right one fit.
#if defined(__AVX512F__)
constexpr int kTileVectors = 3;
constexpr int kTileColumns = 8;
#elif defined(__AVX__)
constexpr int kTileVectors = 3;
constexpr int kTileColumns = 4;
#else
constexpr int kTileVectors = 4;
constexpr int kTileColumns = 6;
#endif
constexpr int kTileRows = kTileVectors * kLanes;

// The left matrix (about 0.4 MB) lies in the core's second-level cache, a panel of the right one
// (at most 16 KB) in its first-level cache, the whole right matrix (1 MB) and the result in the
// cache behind it.
constexpr int kPanelsDown = 192 / kTileRows;
constexpr int kPanelsAcross = 512 / kTileColumns;
constexpr int kRows = kPanelsDown * kTileRows;
constexpr int kColumns = kPanelsAcross * kTileColumns;
constexpr int kDepth = 256;
constexpr double kFlops = 2.0 * kRows * kColumns * kDepth;

constexpr std::size_t kLeft = std::size_t{kRows} * kDepth;
constexpr std::size_t kRight = std::size_t{kColumns} * kDepth;
constexpr std::size_t kResult = std::size_t{kRows} * kColumns;
constexpr std::size_t kTile = std::size_t{kTileRows} * kTileColumns;

// Factors are integers below 2^19: their products have 38 bits, sums over the depth 46, so that all
// arithmetic is exact, and most bits of the multipliers are at work.
constexpr int kBits = 19;

double draw(Draws& draws) {
  const auto bits = static_cast<std::int64_t>(draws.next() >> (63 - kBits));
  return static_cast<double>(bits - (std::int64_t{1} << kBits));
}

// One core's matrices. Left: panels of kTileRows rows, column by column. Right: panels of
// kTileColumns columns, row by row. Result: tiles, column by column.
struct Matrices {
  double* left = nullptr;
  double* right = nullptr;
  double* result = nullptr;
  std::int64_t products = 0;
};

// result <- left * right - result, so that an error of one product remains in all later ones.
inline void multiply_tile(const double* left, const double* right, double* result) {
  Doubles sums[kTileColumns][kTileVectors] = {};
  for (int k = 0; k < kDepth; ++k) {
    Doubles column[kTileVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) column[v] = load(left + v * kLanes);
#pragma GCC unroll 8
    for (int j = 0; j < kTileColumns; ++j) {
      const Doubles factor = broadcast(right[j]);
#pragma GCC unroll 8
      for (int v = 0; v < kTileVectors; ++v) sums[j][v] += column[v] * factor;
    }
    left += kTileRows;
    right += kTileColumns;
  }
#pragma GCC unroll 8
  for (int j = 0; j < kTileColumns; ++j) {
#pragma GCC unroll 8
    for (int v = 0; v < kTileVectors; ++v) {
      double* const to = result + j * kTileRows + v * kLanes;
      store(to, sums[j][v] - load(to));
    }
  }
}

void multiply(Matrices& m) {
  for (int across = 0; across < kPanelsAcross; ++across) {
    const double* const right = m.right + std::size_t{kTileColumns} * kDepth * across;
    for (int down = 0; down < kPanelsDown; ++down) {
      const double* const left = m.left + std::size_t{kTileRows} * kDepth * down;
      multiply_tile(left, right, m.result + kTile * (std::size_t{kPanelsDown} * across + down));
    }
  }
  ++m.products;
}

std::uint64_t as_word(double whole) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
}

// Freivalds' check (1977): result * x = left * (right * x), here modulo 2^64 and with odd x, so
// that a single wrong element always shows. After an even number of products the result is zero.
bool is_right(const Matrices& m) {
  constexpr double kLargest = 0x1p53;
  std::vector<std::uint64_t> x(kColumns);
  Draws draws(1977);
  for (std::uint64_t& each : x) each = draws.next() | 1;
  std::vector<std::uint64_t> right(kDepth, 0);
  for (int j = 0; j < kColumns; ++j) {
    const double* const panel = m.right + std::size_t{kTileColumns} * kDepth * (j / kTileColumns);
    for (int k = 0; k < kDepth; ++k) {
      right[k] += as_word(panel[k * kTileColumns + j % kTileColumns]) * x[j];
    }
  }
  std::uint64_t wrong = m.products > 0 ? 0 : 1;
  for (int i = 0; i < kRows; ++i) {
    const double* const panel = m.left + std::size_t{kTileRows} * kDepth * (i / kTileRows);
    std::uint64_t expected = 0;
    if (m.products % 2 != 0) {
      for (int k = 0; k < kDepth; ++k) {
        expected += as_word(panel[k * kTileRows + i % kTileRows]) * right[k];
      }
    }
    std::uint64_t found = 0;
    for (int j = 0; j < kColumns; ++j) {
      const std::size_t tile =
          std::size_t{kPanelsDown} * (j / kTileColumns) + std::size_t(i / kTileRows);
      const double value = m.result[kTile * tile + std::size_t{kTileRows} * (j % kTileColumns) +
                                    std::size_t(i % kTileRows)];
      if (!(std::abs(value) < kLargest) || value != std::floor(value)) return false;
      found += as_word(value) * x[j];
    }
    wrong += found != expected ? 1 : 0;
  }
  return wrong == 0;
}

}  // namespace

Measured measure_product(const Task& task) {
  constexpr std::size_t kShare = kLeft + kRight + kResult;
  const std::size_t members = task.team.size();
  require_memory(static_cast<double>(members * kShare * sizeof(double)), "matrices");
  Array<double> memory(members * kShare);
  std::vector<Matrices> all(members);
  task.team.run([&](std::size_t member) {
    double* const start = memory.data() + member * kShare;
    all[member] = {start, start + kLeft, start + kLeft + kRight, 0};
    Draws draws(member + 1);
    std::generate_n(start, kLeft + kRight, [&] { return draw(draws); });
    std::fill_n(all[member].result, kResult, 0.0);
  });
  const auto found = timed(task.team, task.seconds, [&](std::size_t member) {
    multiply(all[member]);
    return kFlops;
  });
  Matrices& last = all.back();
  if (task.fault.is("value")) last.result[kResult / 3] += 1.0;
  if (task.fault.is("nan")) last.result[kResult / 3] = std::nan("");
  if (task.fault.is("skip")) ++last.products;
  std::vector<char> right(members);
  task.team.run([&](std::size_t member) { right[member] = is_right(all[member]); });
  const bool verified = std::all_of(right.begin(), right.end(), [](char one) { return one != 0; });
  return {rates_together(found), task.team.cpus(), verified};
}

}  // namespace assay::check
