// Row interchanges of a panel, applied to the columns of the trailing matrix.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "linpack/distribution.hpp"
#include "linpack/transfers.hpp"

namespace assay::linpack {

// The combined effect of a panel's interchanges. Done one after the other, together they do only
// this: each pivot row from below the panel's own rows moves up into U, and a displaced row of the
// panel takes its place; the panel's other rows stay within the panel, in another order.
struct SwapPlan {
  // A pivot row from below the panel.
  struct Risen {
    std::int64_t row;  // local on its owner
    std::int32_t u;    // the row of U that it becomes
    std::int32_t top;  // the row of the panel, from 0, that takes its place
  };
  // A row of the panel that stays in it.
  struct Kept {
    std::int32_t top;
    std::int32_t u;
  };

  std::int32_t count = 0;                 // rows of U
  int owner = 0;                          // grid row that has the panel's rows
  std::int64_t first_row = 0;             // local on the owner: the panel's first row
  std::vector<std::vector<Risen>> risen;  // of each grid row, by local row
  std::vector<Kept> kept;                 // by row of the panel
};

// `pivots[j]`: the global row that is exchanged with row `first + j`, not less than that, for j
// from 0 to `count` in this order. Rows first … first + count - 1 must belong to one block of
// `rows`.
SwapPlan plan_swaps(const std::int64_t* pivots, std::int32_t count, std::int64_t first,
                    const Cyclic& rows);

enum class SwapScheme {
  // By size: `exchange` if U is smaller than 512 KiB on a power of two of ranks, or than 80 KiB on
  // other numbers; `spread` above. The limits come from Thakur, Rabenseifner & Gropp
  // (2005), Optimization of collective communication operations in MPICH, IJHPCA 19(1), section
  // 4.1, for the same choice in an allgather.
  automatic,
  // Pivot rows by recursive doubling, displaced ones by recursive halving, in the same messages:
  // log2(ranks) steps, two more if ranks is not a power of two. For few columns.
  exchange,
  // Pivot rows around a ring, displaced ones directly to their places. For many columns.
  spread,
};

// Positions of the rows of one chunk of columns in the buffer of a rank, in rows of the chunk.
struct SwapPieces {
  std::vector<std::size_t> u;  // each rank's part of U: its risen rows, the owner's kept ones
  std::vector<std::size_t> displaced;  // for each rank, the rows that replace its risen rows
  std::size_t rows = 0;                // of the buffer
};

// The messages that a rank receives and sends; `spread` or `exchange`. Fills in `pieces`.
Schedule swap_schedule(SwapScheme scheme, const SwapPlan& plan, int rank, SwapPieces& pieces);

// Interchanges over the ranks of one column of the process grid, which are its grid rows in order.
// For the thread that calls MPI; copies with all OpenMP threads of a parallel region.
class RowSwaps {
 public:
  // Collective. Duplicates the communicator. `poll`, if any, is called repeatedly while messages
  // are waited for: to progress a broadcast.
  RowSwaps(MPI_Comm column, SwapScheme scheme, std::function<void()> poll = {});
  ~RowSwaps();
  RowSwaps(const RowSwaps&) = delete;
  RowSwaps& operator=(const RowSwaps&) = delete;

  // Maximum bytes that apply() uses for panels of `count` rows on `ranks` ranks.
  static std::size_t memory(std::int32_t count, int ranks);

  // Collective, with the same plan and width everywhere. On columns first … last - 1 of the local
  // matrix `a` (column-major, local rows counted from a[0]), moves displaced rows to their places,
  // and puts the pivot rows in order into U, `plan.count` x (last - first), column-major, on every
  // rank. The panel's own rows of `a` do not change: U holds their final content. On one rank U may
  // be stored there: u may be &a[plan.first_row + first * lda] with ldu = lda.
  void apply(const SwapPlan& plan, double* a, std::int64_t lda, std::int64_t first,
             std::int64_t last, double* u, std::int64_t ldu);

 private:
  // Columns of the local matrix and of U in transit.
  struct Chunk {
    double* a = nullptr;
    double* u = nullptr;
    std::int64_t width = 0;
    std::vector<double> buffer;
    Transfers transfers;
  };

  SwapScheme scheme_for(const SwapPlan& plan, std::int64_t width) const;
  void pack(const SwapPlan& plan, const SwapPieces& pieces, Chunk& chunk, std::int64_t lda) const;
  void unpack(const SwapPlan& plan, const SwapPieces& pieces, const Chunk& chunk, std::int64_t lda,
              std::int64_t ldu) const;
  void finish(Chunk& chunk);

  MPI_Comm column_ = MPI_COMM_NULL;
  SwapScheme scheme_;
  std::function<void()> poll_;
  int rank_ = 0;
  int ranks_ = 1;
  std::array<Chunk, 2> chunks_;  // while one is in transit, the other is packed or unpacked
};

}  // namespace assay::linpack
