#include "npb/adi/pipeline.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace assay::npb::cfd {

Pipeline::Pipeline(const ProcessGrid& grid, int dimension, int threads, std::size_t eliminated,
                   std::size_t substituted, int tag)
    : place_(place_of(grid.coordinates()[static_cast<std::size_t>(dimension)],
                      grid.blocks()[static_cast<std::size_t>(dimension)])),
      comm_(grid.comm()),
      outer_(grid.neighbour(dimension, place_.outward)),
      inner_(grid.neighbour(dimension, -place_.outward)),
      tag_(tag),
      threads_(static_cast<std::size_t>(threads)),
      eliminated_(eliminated),
      substituted_(substituted) {
  if (!place_.cut()) return;
  for (std::size_t i = 0; i < 2; ++i) {
    eliminated_out_[i] = HugeArray<double>(threads_ * eliminated_);
    substituted_in_[i] = HugeArray<double>(threads_ * (place_.meets ? eliminated_ : substituted_));
    if (place_.outermost) continue;
    eliminated_in_[i] = HugeArray<double>(threads_ * eliminated_);
    substituted_out_[i] = HugeArray<double>(threads_ * substituted_);
  }
}

// Messages usually arrive soon, unless the sending rank waits for this very core: after some polls
// the core is yielded. The number of polls adapts to the last waits.
void Pipeline::wait_for(std::array<MPI_Request, 4>& requests) {
  constexpr int kLeastPolls = 128;
  constexpr int kMostPolls = 1024;
  constexpr int kYields = 16;
  constexpr timespec kNap{.tv_sec = 0, .tv_nsec = 20'000};
  int done = 0;
  for (int polls = 0;; ++polls) {
    MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
    if (done) {
      patience_ = polls <= patience_ ? std::min(2 * patience_, kMostPolls)
                                     : std::max(patience_ / 2, kLeastPolls);
      return;
    }
    if (polls >= patience_ + kYields) {
      nanosleep(&kNap, nullptr);
    } else if (polls >= patience_) {
      sched_yield();
    }
  }
}

// Before step i: sends the results of step i - 1 and waits for the data of step i. The data of step
// i + 1 have a posted buffer by then.
void Pipeline::communicate(int step, int batches) {
  const int lag = place_.lag();
  const auto count = [&](std::size_t size) { return static_cast<int>(threads_ * size); };
  const auto buffer = [](Pair& pair, int batch) {
    return pair[static_cast<std::size_t>(batch % 2)].data();
  };
  const std::size_t unknowns = place_.meets ? eliminated_ : substituted_;
  const auto expect = [&](int at) {
    coming_ = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (at < batches && !place_.outermost) {
      MPI_Irecv(buffer(eliminated_in_, at), count(eliminated_), MPI_DOUBLE, outer_, tag_, comm_,
                &coming_[0]);
    }
    const int j = at - lag;
    if (j >= 0 && j < batches) {
      MPI_Irecv(buffer(substituted_in_, j), count(unknowns), MPI_DOUBLE, inner_,
                place_.meets ? tag_ : tag_ + 1, comm_, &coming_[1]);
    }
  };
  if (step == 0) expect(0);
  std::array<MPI_Request, 4> all{coming_[0], coming_[1], MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  if (step >= 1 && step - 1 < batches) {
    MPI_Isend(buffer(eliminated_out_, step - 1), count(eliminated_), MPI_DOUBLE, inner_, tag_,
              comm_, &all[2]);
  }
  const int done = step - 1 - lag;
  if (done >= 0 && done < batches && !place_.outermost) {
    MPI_Isend(buffer(substituted_out_, done), count(substituted_), MPI_DOUBLE, outer_, tag_ + 1,
              comm_, &all[3]);
  }
  expect(step + 1);
  wait_for(all);
}

}  // namespace assay::npb::cfd
