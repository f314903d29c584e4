// A panel: block columns of the matrix, during their factorisation and in the form that is sent.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/fault.hpp"
#include "linpack/column_pass.hpp"
#include "linpack/distribution.hpp"
#include "linpack/settings.hpp"

namespace assay::linpack {

// One contiguous piece of memory, sent without packing along a grid row:
// - the column without a pivot, if any, and the pivots: the row that each column's row is exchanged
//   with, as a global index;
// - the triangles: L with ones on its diagonal, and U. Every grid row has a copy;
// - this grid row's part of the rows below them. The grid row that has the panel's own rows stores
//   them before that part, unused once the panel is factored.
class Panel {
 public:
  // Size for the largest panel of a matrix of order n, on a grid row with that many local rows.
  static std::int64_t doubles(std::int64_t n, std::int64_t nb, std::int64_t local_rows);

  explicit Panel(double* memory) : memory_(memory) {}

  // Becomes the panel that begins with column `first`, on grid row `part`.
  void place(std::int64_t first, std::int64_t n, const Cyclic& rows, int part);

  std::int64_t first() const { return first_; }  // global index of column and row
  std::int64_t width() const { return width_; }
  bool has_top() const { return has_top_; }              // whether the panel's own rows are here
  std::int64_t first_row() const { return first_row_; }  // local, of the part before `below`

  // The global index of the column in which no pivot was found.
  std::optional<std::int64_t> failed() const;
  void fail(std::int64_t column) { memory_[0] = static_cast<double>(column); }

  double* pivots() { return memory_ + kHead; }
  std::vector<std::int64_t> pivot_rows() const;

  double* triangles() { return triangles_; }
  std::int64_t triangles_leading() const { return padded(width_); }

  // The panel's own rows, if they are here, and all rows below them.
  double* rows() { return rows_; }
  std::int64_t row_count() const { return row_count_; }
  std::int64_t rows_leading() const { return padded(row_count_); }

  // All rows except the panel's own.
  const double* below() const { return rows_ + (has_top_ ? width_ : 0); }
  std::int64_t below_count() const { return row_count_ - (has_top_ ? width_ : 0); }

  double* message() { return memory_; }
  std::size_t message_size() const { return size_; }

 private:
  static constexpr std::int64_t kHead = 8;

  double* memory_;
  double* triangles_ = nullptr;
  double* rows_ = nullptr;
  std::int64_t first_ = 0;
  std::int64_t width_ = 0;
  std::int64_t first_row_ = 0;
  std::int64_t row_count_ = 0;
  bool has_top_ = false;
  std::size_t size_ = 0;
};

// Factors panels within one column of the process grid.
class PanelFactorisation {
 public:
  // Collective over `column`, whose ranks are the grid rows. Does not duplicate the communicator:
  // only one thread and no broadcast uses it.
  PanelFactorisation(MPI_Comm column, const Settings& settings, int threads);
  ~PanelFactorisation();
  PanelFactorisation(const PanelFactorisation&) = delete;
  PanelFactorisation& operator=(const PanelFactorisation&) = delete;

  // Collective. `panel.rows()` holds the columns to factor; afterwards it holds L below the
  // triangles, and pivots and triangles result from partial pivoting. If a column has no nonzero
  // number, the factorisation stops and records the column in the panel, on every rank.
  void factor(Panel& panel, const Cyclic& rows);

 private:
  class Work;

  MPI_Comm column_;
  int rank_ = 0;
  int size_ = 1;
  std::int64_t nb_;
  int threads_;
  std::vector<Greatest> found_;               // by each thread
  MPI_Datatype message_ = MPI_DATATYPE_NULL;  // of the grid rows' exchange for one column
  MPI_Op best_ = MPI_OP_NULL;
  std::vector<double> mine_;
  std::vector<double> agreed_;
  PlantedFault fault_;
};

}  // namespace assay::linpack
