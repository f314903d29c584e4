// A field on one level of MG's grids, or a rank's block of it.
#pragma once

#include <cstddef>
#include <vector>

#include "npb/common/halo.hpp"
#include "npb/common/share.hpp"

namespace assay::npb {

// A range of indices that may lie beyond the cube's edges, which are periodic.
struct Range {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
  Range wider(int by) const { return {begin - by, end + by}; }
};

// One dimension of a block: the block's own points, and whether other ranks have the rest. If they
// don't, points beyond the edges are those at the other end.
struct Span {
  Range own;
  bool cut = false;
  int ghosts = 0;  // layers kept on either side, if cut

  int stored() const { return own.size() + 2 * depth(); }
  int depth() const { return cut ? ghosts : 0; }
};

// Rows are addressed by the points' indices in the whole cube. Points along x are contiguous: all
// `extent` of the cube.
class MgField {
 public:
  // How far beyond a block's own points any sweep reads.
  static constexpr int kMargin = 8;

  MgField() = default;
  MgField(int extent, const Span& y, const Span& z, double* memory)
      : extent_(extent), y_(y), z_(z), memory_(memory) {
    const auto row = static_cast<std::ptrdiff_t>(extent);
    y_at_ = places(y, row);
    z_at_ = places(z, row * y.stored());
  }

  static std::size_t doubles(int extent, const Span& y, const Span& z) {
    return static_cast<std::size_t>(extent) * static_cast<std::size_t>(y.stored()) *
           static_cast<std::size_t>(z.stored());
  }

  double* row(int z, int y) const {
    return memory_ + z_at_[static_cast<std::size_t>(z - z_.own.begin + kMargin)] +
           y_at_[static_cast<std::size_t>(y - y_.own.begin + kMargin)];
  }

  int extent() const { return extent_; }
  const Span& y() const { return y_; }
  const Span& z() const { return z_; }

  // Own points and stored ghosts.
  Range stored_y() const { return y_.own.wider(y_.depth()); }
  Range stored_z() const { return z_.own.wider(z_.depth()); }

  double* origin() const { return row(z_.own.begin, y_.own.begin); }
  BlockLayout layout() const {
    const auto row = static_cast<std::size_t>(extent_);
    return {.extents = {extent_, y_.own.size(), z_.own.size()},
            .row = row,
            .plane = row * static_cast<std::size_t>(y_.stored())};
  }
  Ghosts ghosts() const { return {.depth = {0, y_.depth(), z_.depth()}, .corners = true}; }

 private:
  static std::vector<std::ptrdiff_t> places(const Span& span, std::ptrdiff_t step) {
    const int size = span.own.size();
    std::vector<std::ptrdiff_t> at;
    for (int i = -kMargin; i < size + kMargin; ++i) {
      // A span that isn't cut is whole, and therefore periodic.
      at.push_back(step * (span.cut ? i + span.ghosts : (i % size + size) % size));
    }
    return at;
  }

  int extent_ = 0;
  Span y_;
  Span z_;
  double* memory_ = nullptr;
  std::vector<std::ptrdiff_t> y_at_;
  std::vector<std::ptrdiff_t> z_at_;
};

}  // namespace assay::npb
