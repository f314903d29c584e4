// How BT and SP deal a cube to ranks, and lines to batches.
#pragma once

#include "compute/lanes.hpp"
#include "npb/adi/pipeline.hpp"
#include "npb/common/process_grid.hpp"
#include "npb/common/shared.hpp"

namespace assay::npb::cfd {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/adi/constants.def"
#undef NPB_CONSTANT

struct AdiShape {
  static Cutting cutting(int points) { return cube_cutting(kAdiCutting, points); }

  // The lines of a batch: some neighbouring rows across the dimension, of each as many vectors.
  struct Batch {
    int rows = 1;
    int vectors = 1;
  };

  // Of `across` rows that a thread has, in a dimension with so many blocks; `kept` doubles a point.
  // The same on all ranks along the dimension.
  static Batch batch(double points, double blocks, double across, double kept) {
    using namespace shared;
    constexpr double lanes = kLanes;
#include "npb/adi/batch.def"
    return {static_cast<int>(rows), static_cast<int>(vectors)};
  }
};

}  // namespace assay::npb::cfd
