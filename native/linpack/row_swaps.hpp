// Row interchanges of a panel, applied to the columns of the trailing matrix.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "linpack/distribution.hpp"

namespace assay::linpack {

enum class SwapScheme { automatic, exchange, spread };

// What a panel's interchanges come to. They are done one after the other, but together they only do
// this: each pivot row from outside the panel's own rows moves up into U, and a displaced row of
// the panel's takes its place; the panel's other rows stay among the panel's, in another order.
struct SwapPlan {
  // A pivot row from below the panel.
  struct Risen {
    std::int64_t row;  // local on its owner
    std::int32_t u;    // the row of U it becomes
    std::int32_t top;  // the row of the panel, from 0, that takes its place
  };
  // A row of the panel that stays in it.
  struct Kept {
    std::int32_t top;
    std::int32_t u;
  };

  std::int32_t count = 0;      // rows of U
  int owner = 0;               // grid row that has the panel's rows
  std::int64_t first_row = 0;  // local there, of the panel's first row; the others follow
  std::vector<std::vector<Risen>> risen;  // of each grid row, by local row
  std::vector<Kept> kept;                 // by row of the panel
};

// `pivots[j]`: the global row that is exchanged with row `first + j`, not less than that, for j
// from 0 to `count` in this order. Rows first … first + count - 1 must be of one block of `rows`.
SwapPlan plan_swaps(const std::int64_t* pivots, std::int32_t count, std::int64_t first,
                    const Cyclic& rows);

// Interchanges over the ranks of one column of the process grid, which are its grid rows in order.
// For the thread that calls MPI; copies with as many OpenMP threads as a parallel region gets.
class RowSwaps {
 public:
  // Collective. Duplicates the communicator. `poll`, if any, is called while messages are waited
  // for, again and again: to move a broadcast on.
  RowSwaps(MPI_Comm column, SwapScheme scheme, std::function<void()> poll = {});
  ~RowSwaps();
  RowSwaps(const RowSwaps&) = delete;
  RowSwaps& operator=(const RowSwaps&) = delete;

  // Collective, with the same plan and width everywhere. On columns first … last - 1 of the local
  // matrix `a` (column-major, local rows counted from a[0]), puts displaced rows where they belong,
  // and the pivot rows in order into U, `plan.count` x (last - first), column-major, on every rank.
  // The panel's own rows of `a` are left unspecified: U is what belongs there, unless it *is*
  // there: on one rank u may be &a[plan.first_row + first * lda] with ldu = lda.
  void apply(const SwapPlan& plan, double* a, std::int64_t lda, std::int64_t first,
             std::int64_t last, double* u, std::int64_t ldu);

 private:
  MPI_Comm column_ = MPI_COMM_NULL;
  SwapScheme scheme_;
  std::function<void()> poll_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<double> own_;
  std::vector<double> gathered_;
  std::vector<double> displaced_;
};

}  // namespace assay::linpack
