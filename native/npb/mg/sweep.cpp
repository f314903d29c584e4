#include "npb/mg/sweep.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "npb/common/shared.hpp"
#include "npb/mg/rows.hpp"

namespace assay::npb {
namespace {

constexpr int kPlanes = kMgPlanes;
constexpr int kFineReach = kMgFrame;
constexpr int kPadding = kMgPadding;

int stride_of(int extent) { return extent + kPadding; }

// Scratch of a tile with this many rows and planes.
struct ScratchShape {
  int height = 0;  // rows processed together
  std::size_t windows = 0;
  std::size_t frame = 0;
};

ScratchShape scratch_shape(double extent, double rows, double planes) {
  using namespace shared;
#include "npb/mg/scratch.def"
  return {static_cast<int>(height), static_cast<std::size_t>(windows),
          static_cast<std::size_t>(frame)};
}

constexpr int floor_half(int i) { return i >> 1; }

// The coarse points in a fine range: coarse point i coincides with fine point 2 i + 1.
constexpr Range coarse_of(Range fine) { return {floor_half(fine.begin), floor_half(fine.end)}; }

// Some planes of rows, used cyclically.
template <int Planes>
class Window {
 public:
  Window(double*& memory, Range rows, int extent)
      : stride_(stride_of(extent)), first_row_(rows.begin) {
    const std::ptrdiff_t plane = static_cast<std::ptrdiff_t>(stride_) * rows.size() + kPadding;
    for (auto& each : planes_) {
      each = memory;
      memory += plane;
    }
  }

  double* row(int z, int y) const {
    return planes_[static_cast<std::size_t>(z + 64 * Planes) % Planes] +
           static_cast<std::ptrdiff_t>(y - first_row_) * stride_;
  }

  Around around(int z, int y) const { return {row(z - 1, y), row(z, y), row(z + 1, y), stride_}; }

 private:
  std::ptrdiff_t stride_;
  int first_row_;
  std::array<double*, Planes> planes_;
};

// Calls action(std::integral_constant of the number of rows, y) over a range: in pairs, and one if
// it is odd.
template <typename Action>
void in_pairs(Range range, Action action) {
  int y = range.begin;
  for (; y + 2 <= range.end; y += 2) action(std::integral_constant<int, 2>{}, y);
  if (y < range.end) action(std::integral_constant<int, 1>{}, y);
}

// base(z, y): the row to which the result is added, or null.
template <typename V, typename Base, typename Planes>
void interpolate_plane(const MgField& coarser, const Base& base, const Planes& window, int z,
                       Range rows) {
  const int extent = 2 * coarser.extent();
  // A fine point between coarse ones has two; for one that coincides with a coarse point, that is
  // repeated.
  const int high_plane = floor_half(z);
  const int low_plane = high_plane - (z % 2 == 0 ? 1 : 0);
  for (int y = rows.begin; y < rows.end; ++y) {
    const int high_row = floor_half(y);
    const int low_row = high_row - (y % 2 == 0 ? 1 : 0);
    const double* const around[4] = {
        coarser.row(low_plane, low_row), coarser.row(low_plane, high_row),
        coarser.row(high_plane, low_row), coarser.row(high_plane, high_row)};
    if (const double* const row = base(z, y)) {
      interpolate_row<V, true>(around, row, base(z + 1, y), window.row(z, y), extent / 2);
    } else {
      interpolate_row<V, false>(around, nullptr, nullptr, window.row(z, y), extent / 2);
    }
  }
}

template <typename V, typename From, typename To>
void residual_plane(const From& u, const MgField& right, const To& result, int z, Range rows) {
  in_pairs(rows, [&](auto count, int y) {
    constexpr int R = count();
    const double* from[R];
    const double* ahead[R];
    double* to[R];
    for (int k = 0; k < R; ++k) {
      from[k] = right.row(z, y + k);
      ahead[k] = right.row(z + 1, y + k);
      to[k] = result.row(z, y + k);
    }
    residual_rows<V, R, true>(u.around(z, y), from, ahead, to, right.extent(), kLaplacian);
  });
}

template <typename V, bool Copy, typename Residual, typename From, typename To>
void smooth_plane(const Residual& residual, const From& u, const To& result, const MgField* copy,
                  const double* smoother, int extent, int z, Range rows) {
  in_pairs(rows, [&](auto count, int y) {
    constexpr int R = count();
    const double* from[R];
    double* to[R];
    double* copied[R]{};
    for (int k = 0; k < R; ++k) {
      from[k] = u.row(z, y + k);
      to[k] = result.row(z, y + k);
      if constexpr (Copy) copied[k] = copy->row(z, y + k);
    }
    smooth_rows<V, R, Copy>(residual.around(z, y), from, to, copied, extent, smoother);
  });
}

// The points around a tile, as save_frame() stored them: rows below (below the present block;
// another set is filled for the next), rows above, and whole planes before and behind.
class Frame {
 public:
  static constexpr int kWide = kMgFrame;

  Frame(const MgField& u, const Tile& tile, double* memory)
      : u_(u), tile_(tile), extent_(u.extent()) {
    const std::ptrdiff_t rows = static_cast<std::ptrdiff_t>(extent_) * kWide * tile.z.size();
    below_ = memory;
    next_below_ = memory + rows;
    above_ = memory + 2 * rows;
    planes_ = memory + 3 * rows;
  }

  void save() const {
    const auto copy = [&](int z, int y, double* to) { std::copy_n(u_.row(z, y), extent_, to); };
    for (int z = tile_.z.begin - kWide; z < tile_.z.end + kWide; ++z) {
      if (z >= tile_.z.begin && z < tile_.z.end) {
        for (int i = 0; i < kWide; ++i) {
          copy(z, tile_.y.begin - kWide + i, beside(below_, z, i));
          copy(z, tile_.y.end + i, beside(above_, z, i));
        }
      } else {
        for (int y = tile_.y.begin - kWide; y < tile_.y.end + kWide; ++y) copy(z, y, plane(z, y));
      }
    }
  }

  // The original row y of u, for the block of rows that begins with `first`.
  const double* row(int z, int y, int first) const {
    if (z < tile_.z.begin || z >= tile_.z.end) return plane(z, y);
    if (y < first) return beside(below_, z, y - first + kWide);
    if (y >= tile_.y.end) return beside(above_, z, y - tile_.y.end);
    return u_.row(z, y);
  }

  // Saves plane z for the block after `block`, before it is changed.
  void keep(int z, Range block) const {
    if (z < tile_.z.begin || z >= tile_.z.end || block.end >= tile_.y.end) return;
    for (int i = 0; i < kWide; ++i) {
      std::copy_n(row(z, block.end - kWide + i, block.begin), extent_, beside(next_below_, z, i));
    }
  }

  void next_block() { std::swap(below_, next_below_); }

 private:
  double* beside(double* rows, int z, int i) const {
    return rows + (static_cast<std::ptrdiff_t>(z - tile_.z.begin) * kWide + i) * extent_;
  }
  double* plane(int z, int y) const {
    const int index = z < tile_.z.begin ? z - tile_.z.begin + kWide : z - tile_.z.end + kWide;
    return planes_ + (static_cast<std::ptrdiff_t>(index) * (tile_.y.size() + 2 * kWide) + y -
                      tile_.y.begin + kWide) *
                         extent_;
  }

  const MgField& u_;
  Tile tile_;
  int extent_;
  double* below_;
  double* next_below_;
  double* above_;
  double* planes_;
};

// Adds the contribution of fine plane z to a coarse row: coarse point i of rows' restriction, of
// weight 1, 2 and 1 on planes 2 i, 2 i + 1 and 2 i + 2, in this order. `planes`: the coarse planes
// to compute.
template <typename V>
void restrict_plane_row(const double* low, const double* middle, const double* high,
                        const MgField& coarse, int z, int row, Range planes) {
  const int above = floor_half(z);
  const int extent = coarse.extent();
  if (z % 2 != 0) {
    double* const to = coarse.row(above, row);
    restrict_rows<V>(low, middle, high, extent, [to](int x, V sum) __attribute__((always_inline)) {
      store(to + x, load<V>(to + x) + 2.0 * sum);
    });
    return;
  }
  double* const begun = above < planes.end ? coarse.row(above, row) : nullptr;
  double* const ended = above - 1 >= planes.begin ? coarse.row(above - 1, row) : nullptr;
  restrict_rows<V>(low, middle, high, extent,
                   [begun, ended](int x, V sum) __attribute__((always_inline)) {
                     if (begun) store(begun + x, sum);
                     if (ended) store(ended + x, (load<V>(ended + x) + sum) * (1.0 / 16));
                   });
}

template <typename V>
double sum_of_squares(const double* row, int extent) {
  V sum{};
  for (int x = 0; x < extent; x += kWidth<V>) {
    const V value = load<V>(row + x);
    sum += value * value;
  }
  if constexpr (kWidth<V> == 1) {
    return sum;
  } else {
    return sum_of_lanes(sum);
  }
}

template <typename V>
double fine_block(const FineFields& fields, const MgClass& problem, const Tile& tile, bool norm,
                  const Frame& frame, MgScratch& scratch) {
  const int extent = fields.u.extent();
  // Fine points around the tile's coarse ones; they hold the tile itself.
  const Range coarse_y = coarse_of(tile.y);
  const Range coarse_z = coarse_of(tile.z);
  const Range y{2 * coarse_y.begin, 2 * coarse_y.end + 1};
  const Range z{2 * coarse_z.begin, 2 * coarse_z.end + 1};
  double* memory = scratch.windows();
  const Window<5> u(memory, y.wider(3), extent);
  const Window<3> residual(memory, y.wider(2), extent);
  const std::ptrdiff_t stride = stride_of(extent);
  double* last[3] = {memory, memory + stride, memory + 2 * stride};

  double squares = 0.0;
  const auto within = [](Range range, int i) { return i >= range.begin && i < range.end; };
  for (int plane = z.begin - 3; plane < z.end + 3; ++plane) {
    if (fields.correction) {
      const auto old = [&](int at, int row) {
        return frame.row(std::min(at, z.end + 2), row, tile.y.begin);
      };
      interpolate_plane<V>(*fields.correction, old, u, plane, y.wider(3));
      frame.keep(plane, tile.y);
    } else {
      for (int row = y.begin - 1; row < y.end + 1; ++row) {
        std::copy_n(fields.u.row(plane, row), extent, u.row(plane, row));
      }
    }
    if (fields.correction && within(z.wider(2), plane - 1)) {
      residual_plane<V>(u, fields.right, residual, plane - 1, y.wider(2));
    }
    if (fields.correction && within(z.wider(1), plane - 2)) {
      const auto smooth = [&](auto copy, Range rows) {
        smooth_plane<V, copy()>(residual, u, u, &fields.u, problem.smoother, extent, plane - 2,
                                rows);
      };
      if (within(tile.z, plane - 2)) {
        smooth(std::false_type{}, {y.begin - 1, tile.y.begin});
        smooth(std::true_type{}, tile.y);
        smooth(std::false_type{}, {tile.y.end, y.end + 1});
      } else {
        smooth(std::false_type{}, y.wider(1));
      }
    }
    if (!within(z, plane - 3)) continue;
    const int at = plane - 3;
    const auto result_rows = [&](auto count, int row) {
      constexpr int R = count();
      const double* right[R];
      for (int k = 0; k < R; ++k) right[k] = fields.right.row(at, row + k);
      residual_rows<V, R, false>(u.around(at, row), right, nullptr, last + 3 - R, extent,
                                 kLaplacian);
      for (int k = 0; norm && k < R; ++k) {
        if (within(tile.z, at) && within(tile.y, row + k)) {
          squares += sum_of_squares<V>(last[3 - R + k], extent);
        }
      }
    };
    result_rows(std::integral_constant<int, 1>{}, y.begin);
    for (int row = coarse_y.begin; row < coarse_y.end; ++row) {
      std::swap(last[0], last[2]);
      result_rows(std::integral_constant<int, 2>{}, 2 * row + 1);
      if (fields.residual) {
        restrict_plane_row<V>(last[0], last[1], last[2], *fields.residual, at, row, coarse_z);
      }
    }
  }
  return squares;
}

template <typename V>
void coarse_block(const MgField& coarser, const MgField& right, const MgField& correction,
                  const MgClass& problem, const Tile& tile, MgScratch& scratch) {
  const int extent = right.extent();
  double* memory = scratch.windows();
  const Window<3> u(memory, tile.y.wider(2), extent);
  const Window<3> residual(memory, tile.y.wider(1), extent);
  const auto nothing = [](int, int) -> const double* { return nullptr; };
  for (int plane = tile.z.begin - 2; plane < tile.z.end + 2; ++plane) {
    interpolate_plane<V>(coarser, nothing, u, plane, tile.y.wider(2));
    if (plane < tile.z.begin) continue;
    residual_plane<V>(u, right, residual, plane - 1, tile.y.wider(1));
    if (plane < tile.z.begin + 2) continue;
    smooth_plane<V, false>(residual, u, correction, nullptr, problem.smoother, extent, plane - 2,
                           tile.y);
  }
}

// Uses vectors if a coarse row fills one.
template <typename Action>
auto with_lanes(int extent, Action action) {
  return extent >= 2 * kLanes ? action(Doubles{}) : action(double{});
}

template <typename Action>
void for_blocks(const Tile& tile, int extent, Action action) {
  if (tile.empty()) return;
  const int height = scratch_shape(extent, tile.y.size(), tile.z.size()).height;
  for (int begin = tile.y.begin; begin < tile.y.end; begin += height) {
    action(Tile{{begin, std::min(begin + height, tile.y.end)}, tile.z});
  }
}

}  // namespace

std::size_t MgScratch::of_windows(int extent, int rows) {
  return scratch_shape(extent, rows, 0).windows;
}

std::size_t MgScratch::of_frame(int extent, int rows, int planes) {
  return scratch_shape(extent, rows, planes).frame;
}

void save_frame(const MgField& u, const Tile& tile, MgScratch& scratch) {
  if (!tile.empty()) Frame(u, tile, scratch.frame()).save();
}

double sweep_fine(const FineFields& fields, const MgClass& problem, const Tile& tile, bool norm,
                  MgScratch& scratch) {
  const int extent = fields.u.extent();
  Frame frame(fields.u, tile, scratch.frame());
  double squares = 0.0;
  for_blocks(tile, extent, [&](const Tile& block) {
    squares += with_lanes(extent, [&](auto lanes) {
      return fine_block<decltype(lanes)>(fields, problem, block, norm, frame, scratch);
    });
    frame.next_block();
  });
  return squares;
}

void sweep_coarse(const MgField& coarser, const MgField& right, const MgField& correction,
                  const MgClass& problem, const Tile& tile, MgScratch& scratch) {
  for_blocks(tile, right.extent(), [&](const Tile& block) {
    with_lanes(right.extent(), [&](auto lanes) {
      coarse_block<decltype(lanes)>(coarser, right, correction, problem, block, scratch);
    });
  });
}

void restrict_field(const MgField& fine, const MgField& coarse, const Tile& tile) {
  if (tile.empty()) return;
  with_lanes(fine.extent(), [&](auto lanes) {
    using V = decltype(lanes);
    for (int z = 2 * tile.z.begin; z <= 2 * tile.z.end; ++z) {
      for (int row = tile.y.begin; row < tile.y.end; ++row) {
        restrict_plane_row<V>(fine.row(z, 2 * row), fine.row(z, 2 * row + 1),
                              fine.row(z, 2 * row + 2), coarse, z, row, tile.z);
      }
    }
  });
}

void smooth_coarsest(const MgField& right, const MgField& correction, const MgClass& problem) {
  const int extent = right.extent();
  const Range all{0, extent};
  std::vector<double> memory(static_cast<std::size_t>(stride_of(extent) * (extent + 3) * 5));
  double* at = memory.data();
  const Window<4> residual(at, all.wider(1), extent);
  for (int z = -1; z < extent + 1; ++z) {
    for (int y = -1; y < extent + 1; ++y) {
      std::copy_n(right.row(z, y), extent, residual.row(z, y));
    }
  }
  for (int z = 0; z < extent; ++z) {
    for (int y = 0; y < extent; ++y) std::fill_n(correction.row(z, y), extent, 0.0);
    smooth_plane<double, false>(residual, correction, correction, nullptr, problem.smoother, extent,
                                z, all);
  }
}

}  // namespace assay::npb
