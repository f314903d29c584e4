// Distribution of a cube to ranks, and of lines to batches, in BT and SP.
#pragma once

#include "npb/adi/pipeline.hpp"
#include "npb/common/process_grid.hpp"
#include "npb/common/shared.hpp"

namespace assay::npb::cfd {

#define NPB_CONSTANT(type, name, ...) inline constexpr type name = __VA_ARGS__;
#include "npb/adi/constants.def"
#undef NPB_CONSTANT

struct AdiShape {
  static Cutting cutting(int points) { return cube_cutting(kAdiCutting, points); }

  // The lines of a batch: some neighbouring rows across the dimension, and a number of vectors of
  // each.
  struct Batch {
    int rows = 1;
    int vectors = 1;
  };

  // For `across` rows of a thread, in a dimension with that many blocks; `kept` doubles per point,
  // in vectors of that many lanes. The same on all ranks along the dimension.
  static Batch batch(double points, double blocks, double across, double kept, double lanes) {
    using namespace shared;
#include "npb/adi/batch.def"
    return {static_cast<int>(rows), static_cast<int>(vectors)};
  }
};

}  // namespace assay::npb::cfd
