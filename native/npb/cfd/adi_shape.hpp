// How BT and SP deal a cube to ranks, and lines to batches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compute/lanes.hpp"
#include "npb/cfd/pipeline.hpp"
#include "npb/process_grid.hpp"

namespace assay::npb::cfd {

// Lines along x are never cut.
struct AdiShape {
  // Blocks keep so many points in a dimension that is cut: halos are two deep, and two rows that
  // change are handed from one rank to the next.
  static constexpr std::int64_t kLeast = 3;
  // What is kept of the lines of a batch for their substitution: about what a core's second-level
  // cache holds, and enough work (some 40 us) for messages to be cheap beside it.
  static constexpr std::size_t kBatchBytes = std::size_t{1} << 20;
  // Batches in a sweep for each rank that a pipeline is deep: it must fill.
  static constexpr int kBatches = 12;

  static Cutting cutting(int points) {
    return {.extents = {points, points, points}, .may_cut = {false, true, true}, .least = kLeast};
  }

  // The lines of a batch: some neighbouring rows across the dimension, of each as many vectors.
  struct Batch {
    int rows = 1;
    int vectors = 1;
  };

  // Of `across` rows that a thread has, in a dimension with so many blocks; `kept` doubles a point.
  // The same on all ranks along the dimension.
  static Batch batch(int points, int blocks, int across, int kept) {
    const int all = (points + kLanes - 1) / kLanes;
    const auto rows = static_cast<std::size_t>((points + blocks - 1) / blocks);
    const std::size_t bytes = rows * static_cast<std::size_t>(kept) * sizeof(Doubles);
    const std::size_t whole = bytes * static_cast<std::size_t>(all);
    if (whole > kBatchBytes) {
      const int parts =
          std::min(static_cast<int>(whole / kBatchBytes) + (blocks == 1 ? 1 : 0), all);
      return {1, (all + parts - 1) / parts};
    }
    if (blocks == 1) return {1, all};
    const int deep = place_of(0, blocks).deepest + 1;
    const int most = std::max(1, across / (kBatches * deep));
    return {std::min(static_cast<int>(kBatchBytes / whole), most), all};
  }
};

}  // namespace assay::npb::cfd
