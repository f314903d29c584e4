#include "npb/lu/pipeline.hpp"

#include <algorithm>
#include <thread>

#include "npb/common/shared.hpp"
#include "npb/lu/classes.hpp"

namespace assay::npb {
namespace {

constexpr int kTag = 64;                              // different from the halo's
constexpr std::ptrdiff_t kValues = cfd::kComponents;  // per point

}  // namespace

int lu_planes_per_message(int points) {
  using namespace shared;
  using cfd::kComponents;
#include "npb/lu/message.def"
  return static_cast<int>(planes);
}

LuPipeline::LuPipeline(const ProcessGrid& grid, cfd::Range planes, cfd::Range rows,
                       cfd::Range points, int threads, int planes_per_message)
    : comm_(grid.comm()),
      planes_(planes),
      rows_(rows),
      points_(points),
      threads_(std::min(threads, count(rows))),
      batch_(planes_per_message),
      done_(static_cast<std::size_t>(threads_)) {
  for (int d = 0; d < 2; ++d) {
    neighbours_[d] = {grid.neighbour(d, -1), grid.neighbour(d, 1), MPI_PROC_NULL};
  }
  const auto plane_count = static_cast<std::size_t>(count(planes));
  hands_ = HugeArray<double>(static_cast<std::size_t>(threads_ + 1) * plane_count *
                             static_cast<std::size_t>(kValues * count(points)));
  if (grid.cut(0)) {
    const std::size_t size = plane_count * static_cast<std::size_t>(kValues * count(rows));
    in_x_ = HugeArray<double>(size);
    out_x_ = HugeArray<double>(size);
  }
}

void LuPipeline::yield_core() { std::this_thread::yield(); }

std::int64_t LuPipeline::base_of_next(int thread) {
  const std::int64_t base = done_[thread].base;
  done_[thread].base += count(planes_);
  return base;
}

bool LuPipeline::ready(int position, std::int64_t plane) const {
  if (position > 0 && done_[position - 1].planes.load(std::memory_order_acquire) <= plane) {
    return false;
  }
  return received_.load(std::memory_order_acquire) > plane;
}

double* LuPipeline::hand(int position, int p) {
  const std::ptrdiff_t plane = kValues * count(points_);
  return hands_.data() + (static_cast<std::ptrdiff_t>(position) * count(planes_) + p) * plane;
}

LuEdges LuPipeline::edges(int position, int p) {
  LuEdges edges;
  const Side& x = side_[0];
  const Side& y = side_[1];
  if (x.from != MPI_PROC_NULL) edges.in_x = x.in + p * x.plane;
  if (x.to != MPI_PROC_NULL) edges.out_x = x.out + p * x.plane;
  if (position > 0 || y.from != MPI_PROC_NULL) edges.in_y = hand(position, p);
  if (position + 1 < threads_ || y.to != MPI_PROC_NULL) edges.out_y = hand(position + 1, p);
  edges.first_row = rows_.begin;
  edges.rows = count(rows_);
  return edges;
}

void LuPipeline::start(bool upper, std::int64_t base) {
  for (int d = 0; d < 2; ++d) {
    side_[d].from = neighbours_[d][upper ? 1 : 0];
    side_[d].to = neighbours_[d][upper ? 0 : 1];
  }
  side_[0].in = in_x_.data();
  side_[0].out = out_x_.data();
  side_[0].plane = kValues * count(rows_);
  side_[1].in = hand(0, 0);
  side_[1].out = hand(threads_, 0);
  side_[1].plane = kValues * count(points_);
  base_ = base;
  batches_ = (count(planes_) + batch_ - 1) / batch_;
  next_received_ = 0;
  next_sent_ = 0;
  receives_.assign(static_cast<std::size_t>(2 * batches_), MPI_REQUEST_NULL);
  sends_.clear();
  for (int batch = 0; batch < batches_; ++batch) {
    const int planes = std::min(batch_, count(planes_) - batch * batch_);
    for (int d = 0; d < 2; ++d) {
      const Side& side = side_[d];
      if (side.from == MPI_PROC_NULL) continue;
      MPI_Irecv(side.in + batch * batch_ * side.plane, static_cast<int>(planes * side.plane),
                MPI_DOUBLE, side.from, kTag, comm_,
                &receives_[static_cast<std::size_t>(2 * batch + d)]);
    }
  }
  if (side_[0].from == MPI_PROC_NULL && side_[1].from == MPI_PROC_NULL) {
    next_received_ = batches_;
    received_.store(base_ + count(planes_), std::memory_order_release);
  }
}

void LuPipeline::communicate() {
  while (next_received_ < batches_) {
    int arrived = 0;
    MPI_Testall(2, &receives_[static_cast<std::size_t>(2 * next_received_)], &arrived,
                MPI_STATUSES_IGNORE);
    if (arrived == 0) break;
    ++next_received_;
    received_.store(base_ + std::min(next_received_ * batch_, count(planes_)),
                    std::memory_order_release);
  }
  if (side_[0].to == MPI_PROC_NULL && side_[1].to == MPI_PROC_NULL) return;
  while (next_sent_ < batches_) {
    const int begin = next_sent_ * batch_;
    const int end = std::min(begin + batch_, count(planes_));
    // All threads write the sums along x; the last thread has waited for the others.
    if (done_[threads_ - 1].planes.load(std::memory_order_acquire) < base_ + end) break;
    for (const Side& side : side_) {
      if (side.to == MPI_PROC_NULL) continue;
      MPI_Request& request = sends_.emplace_back();
      MPI_Isend(side.out + begin * side.plane, static_cast<int>((end - begin) * side.plane),
                MPI_DOUBLE, side.to, kTag, comm_, &request);
    }
    ++next_sent_;
  }
}

void LuPipeline::finish() {
  if (side_[0].to != MPI_PROC_NULL || side_[1].to != MPI_PROC_NULL) {
    wait([&] {
      communicate();
      return next_sent_ == batches_;
    });
  }
  MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace assay::npb
