#include "npb/common/halo.hpp"

#include <omp.h>

#include <algorithm>

#include "harness/kernel.hpp"

namespace assay::npb {

std::size_t Halo::Region::rows() const {
  return static_cast<std::size_t>(end[1] - begin[1]) * static_cast<std::size_t>(end[2] - begin[2]);
}

std::size_t Halo::Region::points() const {
  return rows() * static_cast<std::size_t>(end[0] - begin[0]);
}

Halo::Halo(const ProcessGrid& grid, const BlockLayout& layout, const Ghosts& ghosts, int components,
           int tag)
    : comm_(grid.comm()), layout_(layout), components_(components) {
  MPI_Comm_rank(comm_, &rank_);
  for (int d = 0; d < 3; ++d) {
    if (ghosts.depth[d] == 0) continue;
    add_dimension(grid, ghosts, d, tag);
    if (ghosts.corners) steps_.push_back(sides_.size());
  }
  if (!ghosts.corners && !sides_.empty()) steps_.push_back(sides_.size());

  std::size_t doubles = 0;
  for (Side& side : sides_) {
    if (side.neighbour == MPI_PROC_NULL || side.neighbour == rank_) continue;
    ++messages_;
    bytes_ += static_cast<std::int64_t>(count(side.own) * sizeof(double));
    side.direct = in_one_piece(side.own);
    if (side.direct) continue;
    side.sent_at = doubles;
    side.received_at = doubles + count(side.own);
    doubles += 2 * count(side.own);
  }
  if (doubles > 0) buffer_ = HugeArray<double>(doubles);
  requests_.resize(2 * sides_.size());
}

void Halo::add_dimension(const ProcessGrid& grid, const Ghosts& ghosts, int dimension, int tag) {
  const int depth = ghosts.depth[dimension];
  for (int side = 0; side < 2; ++side) {
    Side each;
    each.neighbour = grid.neighbour(dimension, side == 0 ? -1 : 1);
    // A layer sent downwards arrives at the upper side of the receiver.
    each.send_tag = tag + 2 * dimension + side;
    each.receive_tag = tag + 2 * dimension + (1 - side);
    for (int d = 0; d < 3; ++d) {
      const int reach = ghosts.corners && d < dimension ? ghosts.depth[d] : 0;
      each.own.begin[d] = each.ghost.begin[d] = -reach;
      each.own.end[d] = each.ghost.end[d] = layout_.extents[d] + reach;
    }
    const int extent = layout_.extents[dimension];
    if (extent < depth) throw KernelError("a block is thinner than its neighbour's ghosts");
    each.own.begin[dimension] = side == 0 ? 0 : extent - depth;
    each.own.end[dimension] = each.own.begin[dimension] + depth;
    each.ghost.begin[dimension] = side == 0 ? -depth : extent;
    each.ghost.end[dimension] = each.ghost.begin[dimension] + depth;
    sides_.push_back(each);
  }
}

// Whether its rows are contiguous, and its planes too.
bool Halo::in_one_piece(const Region& region) const {
  if (components_ > 1) return false;
  const auto width = static_cast<std::size_t>(region.end[0] - region.begin[0]);
  const auto height = static_cast<std::size_t>(region.end[1] - region.begin[1]);
  const int depth = region.end[2] - region.begin[2];
  return (width == layout_.row || region.rows() == 1) &&
         (height * layout_.row == layout_.plane || depth == 1);
}

double* Halo::first_of(double* origin, const Region& region) const {
  return origin + region.begin[2] * static_cast<std::ptrdiff_t>(layout_.plane) +
         region.begin[1] * static_cast<std::ptrdiff_t>(layout_.row) + region.begin[0];
}

std::size_t Halo::count(const Region& region) const {
  return static_cast<std::size_t>(components_) * region.points();
}

template <typename Action>
void Halo::for_my_rows(double* origin, const Region& region, Action action) const {
  const auto width = static_cast<std::size_t>(region.end[0] - region.begin[0]);
  const auto height = static_cast<std::size_t>(region.end[1] - region.begin[1]);
  const std::size_t rows = region.rows();
  const Share mine = share_of({0, rows * static_cast<std::size_t>(components_)},
                              static_cast<std::uint64_t>(omp_get_thread_num()),
                              static_cast<std::uint64_t>(omp_get_num_threads()));
  double* const first = first_of(origin, region);
  for (std::uint64_t i = mine.begin; i < mine.end; ++i) {
    const std::size_t row = i % rows;
    action(first + i / rows * layout_.component + row / height * layout_.plane +
               row % height * layout_.row,
           i * width, width);
  }
}

void Halo::pack(double* origin, const Side& side) {
  double* const sent = buffer_.data() + side.sent_at;
  for_my_rows(origin, side.own, [sent](const double* row, std::size_t place, std::size_t width) {
    std::copy_n(row, width, sent + place);
  });
}

void Halo::unpack(double* origin, const Side& side) {
  const double* const received = buffer_.data() + side.received_at;
  for_my_rows(origin, side.ghost, [received](double* row, std::size_t place, std::size_t width) {
    std::copy_n(received + place, width, row);
  });
}

void Halo::copy_from_other_side(double* origin, const Side& side, const Side& other) {
  const std::ptrdiff_t distance = first_of(origin, other.own) - first_of(origin, side.ghost);
  for_my_rows(origin, side.ghost, [distance](double* row, std::size_t, std::size_t width) {
    std::copy_n(row + distance, width, row);
  });
}

void Halo::communicate(double* origin, std::size_t begin, std::size_t end) {
  int requests = 0;
  const auto each = [&](auto action) {
    for (std::size_t i = begin; i < end; ++i) {
      const Side& side = sides_[i];
      if (side.neighbour != MPI_PROC_NULL && side.neighbour != rank_) action(side);
    }
  };
  each([&](const Side& side) {
    double* const to =
        side.direct ? first_of(origin, side.ghost) : buffer_.data() + side.received_at;
    MPI_Irecv(to, static_cast<int>(count(side.ghost)), MPI_DOUBLE, side.neighbour, side.receive_tag,
              comm_, &requests_[static_cast<std::size_t>(requests++)]);
  });
  each([&](const Side& side) {
    const double* const from =
        side.direct ? first_of(origin, side.own) : buffer_.data() + side.sent_at;
    MPI_Isend(from, static_cast<int>(count(side.own)), MPI_DOUBLE, side.neighbour, side.send_tag,
              comm_, &requests_[static_cast<std::size_t>(requests++)]);
  });
  MPI_Waitall(requests, requests_.data(), MPI_STATUSES_IGNORE);
}

void Halo::exchange(double* origin) {
  std::size_t begin = 0;
#pragma omp barrier
  for (const std::size_t end : steps_) {
    bool packs = false;
    bool sends = false;
    for (std::size_t i = begin; i < end; ++i) {
      const Side& side = sides_[i];
      if (side.neighbour == MPI_PROC_NULL) continue;
      if (side.neighbour == rank_) {
        copy_from_other_side(origin, side, sides_[i ^ 1]);
      } else {
        sends = true;
        if (!side.direct) {
          packs = true;
          pack(origin, side);
        }
      }
    }
    if (packs) {
#pragma omp barrier
    }
    if (sends) {
#pragma omp master
      communicate(origin, begin, end);
#pragma omp barrier
      for (std::size_t i = begin; packs && i < end; ++i) {
        const Side& side = sides_[i];
        if (side.neighbour != MPI_PROC_NULL && side.neighbour != rank_ && !side.direct) {
          unpack(origin, side);
        }
      }
    }
    begin = end;
#pragma omp barrier
  }
}

}  // namespace assay::npb
