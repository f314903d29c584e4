// The size of STREAM's arrays, for all kernels that stream.
#pragma once

#include <cstddef>

#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "memory/sizes.hpp"

namespace assay::stream {

// STREAM requires arrays of at least four times the last-level caches. That is not enough for
// caches that resist scans: they keep a part of the array from pass to pass, which non-temporal
// stores leave in place, and the rate is up to caches/array too high (at four times, 10% for triad
// on a 32 MiB cache). Sixteen times is the aim, limited to 2 GiB per thread, because a single
// thread can't fill many caches.
constexpr std::size_t kMinTimesCaches = 4;
constexpr std::size_t kAimedTimesCaches = 16;
constexpr std::size_t kEnoughBytesPerThread = std::size_t{2} << 30;
// The share of a node's available memory that all its arrays together may take.
constexpr double kPartOfMemory = 0.25;
// Parts of threads start at multiples of this many elements: a page of 4 KiB belongs to one thread.
constexpr std::size_t kChunkElements = 512;

// Elements of each array of a rank, as long as its `threads` need: the largest of 16, 8 and 4 times
// the caches that fits into memory; 4 times in any case.
inline std::size_t automatic_elements(const Context& context, int threads) {
  const auto ranks = static_cast<std::size_t>(context.local_size);
  const std::size_t node_threads = ranks * static_cast<std::size_t>(threads);
  // Three arrays, as STREAM has, so that all operations use the same size.
  const double affordable = memory_per_rank(context, kPartOfMemory) * context.local_size / 3;
  std::size_t times = kAimedTimesCaches;
  while (times > kMinTimesCaches &&
         (static_cast<double>(times * node_caches(context)) > affordable ||
          times * node_caches(context) > kEnoughBytesPerThread * node_threads)) {
    times /= 2;
  }
  const std::size_t step = kChunkElements * static_cast<std::size_t>(threads);
  const std::size_t elements = times * node_caches(context) / sizeof(double) / ranks;
  return (elements + step - 1) / step * step;
}

}  // namespace assay::stream
