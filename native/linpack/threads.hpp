// Shares of a panel's or a matrix's rows for the threads of a rank.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace assay::linpack {

// Minimum rows per thread: the time for this many rows in a pass or a product is about that of
// waking a thread and waiting for it.
inline constexpr std::int64_t kRowsOfThread = 512;

// Calls action(first, count, part) for contiguous parts of `rows` rows that begin at whole cache
// lines, on up to `threads` threads concurrently; part counts from 0 and is less than `threads`.
// The BLAS uses one thread in each: a pool of its own would compete for the CPUs with OpenMP's,
// which waits by polling.
template <typename Action>
void in_row_shares(int threads, std::int64_t rows, Action action) {
  const std::int64_t parts =
      std::clamp<std::int64_t>(rows / kRowsOfThread, 1, static_cast<std::int64_t>(threads));
  if (parts == 1) {
    action(std::int64_t{0}, rows, 0);
    return;
  }
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    const auto limit = [&](std::int64_t p) { return p == parts ? rows : rows * p / parts / 8 * 8; };
    action(limit(part), limit(part + 1) - limit(part), static_cast<int>(part));
  }
}

}  // namespace assay::linpack
