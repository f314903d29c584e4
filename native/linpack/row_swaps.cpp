#include "linpack/row_swaps.hpp"

#include <algorithm>

namespace assay::linpack {

RowSwaps::RowSwaps(MPI_Comm column, SwapScheme scheme, std::function<void()> poll)
    : scheme_(scheme), poll_(std::move(poll)) {
  MPI_Comm_dup(column, &column_);
  MPI_Comm_rank(column_, &rank_);
  MPI_Comm_size(column_, &size_);
}

RowSwaps::~RowSwaps() { MPI_Comm_free(&column_); }

void RowSwaps::apply(const SwapPlan& plan, double* a, std::int64_t lda, std::int64_t first,
                     std::int64_t last, double* u, std::int64_t ldu) {
  const std::int64_t width = last - first;
  if (width <= 0 || plan.count == 0) return;
  // The pieces of U and the displaced rows, by rank, each column by column.
  std::vector<int> counts(static_cast<std::size_t>(size_));
  std::vector<int> starts(static_cast<std::size_t>(size_));
  int all = 0;
  for (int r = 0; r < size_; ++r) {
    counts[r] = static_cast<int>(plan.risen[r].size() * static_cast<std::size_t>(width));
    starts[r] = all;
    all += counts[r];
  }
  const std::int64_t kept = static_cast<std::int64_t>(plan.kept.size()) * width;
  own_.resize(static_cast<std::size_t>(counts[rank_]));
  gathered_.resize(static_cast<std::size_t>(all + kept));
  displaced_.resize(static_cast<std::size_t>(all));

  const auto& mine = plan.risen[static_cast<std::size_t>(rank_)];
  const auto rows = static_cast<std::int64_t>(mine.size());
  for (std::int64_t c = 0; c < width; ++c) {
    for (std::int64_t e = 0; e < rows; ++e) {
      own_[c * rows + e] = a[mine[e].row + (first + c) * lda];
    }
  }
  if (rank_ == plan.owner) {
    for (int r = 0; r < size_; ++r) {
      const auto& theirs = plan.risen[r];
      double* out = displaced_.data() + starts[r];
      for (std::int64_t c = 0; c < width; ++c) {
        for (const auto& each : theirs) {
          *out++ = a[plan.first_row + each.top + (first + c) * lda];
        }
      }
    }
    double* out = gathered_.data() + all;
    for (std::int64_t c = 0; c < width; ++c) {
      for (const auto& each : plan.kept) {
        *out++ = a[plan.first_row + each.top + (first + c) * lda];
      }
    }
  }
  MPI_Allgatherv(own_.data(), counts[rank_], MPI_DOUBLE, gathered_.data(), counts.data(),
                 starts.data(), MPI_DOUBLE, column_);
  MPI_Bcast(gathered_.data() + all, static_cast<int>(kept), MPI_DOUBLE, plan.owner, column_);
  MPI_Scatterv(displaced_.data(), counts.data(), starts.data(), MPI_DOUBLE, own_.data(),
               counts[rank_], MPI_DOUBLE, plan.owner, column_);
  for (std::int64_t c = 0; c < width; ++c) {
    for (std::int64_t e = 0; e < rows; ++e) {
      a[mine[e].row + (first + c) * lda] = own_[c * rows + e];
    }
    for (int r = 0; r < size_; ++r) {
      const auto count = static_cast<std::int64_t>(plan.risen[r].size());
      for (std::int64_t e = 0; e < count; ++e) {
        u[plan.risen[r][e].u + c * ldu] = gathered_[starts[r] + c * count + e];
      }
    }
    const auto count = static_cast<std::int64_t>(plan.kept.size());
    for (std::int64_t e = 0; e < count; ++e) {
      u[plan.kept[e].u + c * ldu] = gathered_[all + c * count + e];
    }
  }
}

}  // namespace assay::linpack
