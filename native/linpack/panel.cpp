#include "linpack/panel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compute/blas.hpp"
#include "linpack/threads.hpp"

namespace assay::linpack {
namespace {

std::int64_t whole_lines(std::int64_t doubles) { return (doubles + 7) / 8 * 8; }

// Layout of the messages that grid rows exchange per column: the greatest magnitude, its row,
// whether the panel's row of that column is included; then the two rows.
constexpr std::int64_t kMagnitude = 0;
constexpr std::int64_t kRow = 1;
constexpr std::int64_t kHasCurrent = 2;
constexpr std::int64_t kRows = 4;

// MPI_User_function: of two such messages, keeps the pivot of greater magnitude, of equal ones that
// of the upper row, so that the choice doesn't depend on the grid; and the panel's row.
void take_better(void* in, void* inout, int*, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const auto width = (bytes / static_cast<std::int64_t>(sizeof(double)) - kRows) / 2;
  const auto* const other = static_cast<const double*>(in);
  auto* const best = static_cast<double*>(inout);
  if (other[kMagnitude] > best[kMagnitude] ||
      (other[kMagnitude] == best[kMagnitude] && other[kRow] < best[kRow])) {
    best[kMagnitude] = other[kMagnitude];
    best[kRow] = other[kRow];
    std::copy_n(other + kRows, width, best + kRows);
  }
  if (other[kHasCurrent] != 0.0) {
    best[kHasCurrent] = 1.0;
    std::copy_n(other + kRows + width, width, best + kRows + width);
  }
}

}  // namespace

// ---- The piece of memory ------------------------------------------------------------------------

std::int64_t Panel::doubles(std::int64_t n, std::int64_t nb, std::int64_t local_rows) {
  const std::int64_t width = std::min(n, nb);
  return kHead + whole_lines(width) + padded(width) * width + padded(local_rows) * width;
}

void Panel::place(std::int64_t first, std::int64_t n, const Cyclic& rows, int part) {
  first_ = first;
  width_ = std::min(rows.block, n - first);
  has_top_ = rows.owner(first) == part;
  first_row_ = rows.below(first, part);
  row_count_ = rows.count(part) - first_row_;
  triangles_ = memory_ + kHead + whole_lines(width_);
  rows_ = triangles_ + padded(width_) * width_;
  size_ = static_cast<std::size_t>(rows_ + rows_leading() * width_ - memory_);
}

std::optional<std::int64_t> Panel::failed() const {
  if (memory_[0] < 0.0) return std::nullopt;
  return static_cast<std::int64_t>(memory_[0]);
}

std::vector<std::int64_t> Panel::pivot_rows() const {
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(width_));
  for (std::int64_t c = 0; c < width_; ++c) {
    pivots[static_cast<std::size_t>(c)] = static_cast<std::int64_t>(memory_[kHead + c]);
  }
  return pivots;
}

// ---- Its factorisation --------------------------------------------------------------------------

// The factorisation of one panel. Columns count from the panel's first. Once column c has its
// pivot, the pivot's row is in the triangles on every grid row, and its place on its owner holds
// the panel's row c; row c of the panel's own rows is no longer used.
class PanelFactorisation::Work {
 public:
  Work(PanelFactorisation& owner, Panel& panel, const Cyclic& rows)
      : owner_(owner),
        panel_(panel),
        rows_(rows),
        entries_(panel.rows()),
        leading_(panel.rows_leading()),
        triangles_(panel.triangles()),
        triangles_leading_(panel.triangles_leading()) {}

  // Columns first … first + count - 1, from which all columns before have been subtracted: the left
  // half, its effect on the right half, the right half (Toledo, SIAM J. Matrix Anal. Appl. 18,
  // 1997). False if a column has no pivot.
  bool recurse(std::int64_t first, std::int64_t count) {
    if (count <= kNarrow) return narrow(first, static_cast<int>(count));
    const std::int64_t left = (count / 2 + kNarrow - 1) / kNarrow * kNarrow;
    const std::int64_t right = count - left;
    const std::int64_t middle = first + left;
    if (!recurse(first, left)) return false;
    double* const u = triangle(first, middle);
    blas::solve_unit_lower(left, right, {triangle(first, first), triangles_leading_}, u,
                           triangles_leading_);
    const std::int64_t unused = unused_rows(middle);
    in_shares(unused, [&](std::int64_t row, std::int64_t rows, int) {
      blas::subtract_product(rows, right, left, {entry(row, first), leading_},
                             {u, triangles_leading_}, entry(row, middle), leading_);
    });
    return recurse(middle, right);
  }

 private:
  double* entry(std::int64_t row, std::int64_t column) const {
    return entries_ + row + column * leading_;
  }
  double* triangle(std::int64_t row, std::int64_t column) const {
    return triangles_ + row + column * triangles_leading_;
  }
  std::int64_t unused_rows(std::int64_t columns_done) const {
    return panel_.has_top() ? columns_done : 0;
  }

  // Calls action(first, count, part) for shares of the rows still in use.
  template <typename Action>
  void in_shares(std::int64_t unused, Action action) const {
    in_row_shares(
        owner_.threads_, panel_.row_count() - unused,
        [&](std::int64_t row, std::int64_t rows, int part) { action(unused + row, rows, part); });
  }

  // Few columns, each by one pass, which scales the one before it.
  bool narrow(std::int64_t first, int count) {
    double scale = 1.0;
    for (int c = 0; c < count; ++c) {
      const std::int64_t column = first + c;
      double* const u = triangle(first, column);
      for (int k = 0; k < c; ++k) {
        for (int j = 0; j < k; ++j) u[k] -= *triangle(first + k, first + j) * u[j];
      }
      const std::int64_t unused = unused_rows(column);
      in_shares(unused, [&](std::int64_t row, std::int64_t rows, int part) {
        Greatest& found = owner_.found_[static_cast<std::size_t>(part)];
        found = column_pass(c, entry(row, first), leading_, rows, u, scale);
        if (found.row >= 0) found.row += row;
      });
      Greatest found;
      for (Greatest& each : owner_.found_) {
        found.consider(each.magnitude, each.row);
        each = {};
      }
      if (owner_.fault_.is("pivot")) found = least(unused, column);
      if (!choose(column, found)) return false;
      // Assumes that the reciprocal doesn't overflow: it doesn't for the generator's matrices, and
      // an overflow would show in the residual.
      scale = 1.0 / *triangle(column, column);
    }
    const std::int64_t unused = unused_rows(first + count);
    in_shares(unused, [&](std::int64_t row, std::int64_t rows, int) {
      double* const last = entry(row, first + count - 1);
      for (std::int64_t i = 0; i < rows; ++i) last[i] *= scale;
    });
    return true;
  }

  // The grid rows agree on the pivot of a column and exchange the two rows.
  bool choose(std::int64_t column, const Greatest& found) {
    const std::int64_t width = panel_.width();
    double* const mine = owner_.mine_.data();
    const std::int64_t none = std::numeric_limits<std::int32_t>::max();
    const std::int64_t row =
        found.row < 0 ? none : rows_.global(panel_.first_row() + found.row, owner_.rank_);
    mine[kMagnitude] = found.magnitude;
    mine[kRow] = static_cast<double>(row);
    mine[kHasCurrent] = panel_.has_top() ? 1.0 : 0.0;
    // The messages have the length for the widest panel.
    double* const candidate = mine + kRows;
    const std::int64_t current = kRows + owner_.nb_;
    if (found.row >= 0) copy_row(found.row, candidate);
    if (panel_.has_top()) copy_row(column, mine + current);
    const double* agreed = mine;
    if (owner_.size_ > 1) {
      MPI_Allreduce(mine, owner_.agreed_.data(), 1, owner_.message_, owner_.best_, owner_.column_);
      agreed = owner_.agreed_.data();
    }
    if (!(agreed[kMagnitude] > 0.0)) {
      panel_.fail(panel_.first() + column);
      return false;
    }
    const auto pivot = static_cast<std::int64_t>(agreed[kRow]);
    panel_.pivots()[column] = agreed[kRow];
    for (std::int64_t c = 0; c < width; ++c) *triangle(column, c) = agreed[kRows + c];
    if (rows_.owner(pivot) == owner_.rank_) {
      const std::int64_t left_behind = rows_.local(pivot) - panel_.first_row();
      for (std::int64_t c = 0; c < width; ++c) *entry(left_behind, c) = agreed[current + c];
    }
    return true;
  }

  void copy_row(std::int64_t row, double* out) const {
    for (std::int64_t c = 0; c < panel_.width(); ++c) out[c] = *entry(row, c);
  }

  Greatest least(std::int64_t unused, std::int64_t column) const {
    Greatest worst;
    for (std::int64_t i = unused; i < panel_.row_count(); ++i) {
      const double magnitude = std::abs(*entry(i, column));
      if (magnitude > 0.0 && (worst.row < 0 || magnitude < worst.magnitude)) {
        worst = {magnitude, i};
      }
    }
    return worst;
  }

  PanelFactorisation& owner_;
  Panel& panel_;
  const Cyclic& rows_;
  double* entries_;
  std::int64_t leading_;
  double* triangles_;
  std::int64_t triangles_leading_;
};

PanelFactorisation::PanelFactorisation(MPI_Comm column, const Settings& settings, int threads)
    : column_(column),
      nb_(std::min(settings.n, settings.nb)),
      threads_(threads),
      found_(static_cast<std::size_t>(threads)) {
  MPI_Comm_rank(column, &rank_);
  MPI_Comm_size(column, &size_);
  const std::int64_t size = kRows + 2 * nb_;
  mine_.resize(static_cast<std::size_t>(size));
  agreed_.resize(mine_.size());
  MPI_Type_contiguous(static_cast<int>(size), MPI_DOUBLE, &message_);
  MPI_Type_commit(&message_);
  MPI_Op_create(take_better, 1, &best_);
  fault_ = settings.fault;
}

PanelFactorisation::~PanelFactorisation() {
  MPI_Op_free(&best_);
  MPI_Type_free(&message_);
}

void PanelFactorisation::factor(Panel& panel, const Cyclic& rows) {
  panel.fail(-1);
  Work(*this, panel, rows).recurse(0, panel.width());
}

}  // namespace assay::linpack
