// Settings of a dense system and its solution, and the memory that it needs.
#pragma once

#include <cstdint>

#include "harness/fault.hpp"
#include "linpack/broadcast.hpp"
#include "linpack/row_swaps.hpp"

namespace assay::linpack {

enum class MatrixKind { random, graded, nearly_singular, singular };

struct Settings {
  std::int64_t n = 1;   // order
  std::int64_t nb = 1;  // columns of a panel
  int p = 1;            // rows of the process grid; divides the ranks
  BroadcastScheme broadcast = BroadcastScheme::ring;
  SwapScheme swap = SwapScheme::automatic;
  int depth = 1;  // 1: the next panel is factored and sent during the update
  MatrixKind matrix = MatrixKind::random;
  std::uint64_t seed = 0;
  // "pivot": the smallest number of a column as its pivot; "factor": an entry wrong by a millionth.
  PlantedFault fault;
};

// The default.
inline constexpr std::int64_t kUsualBlock = 192;
inline constexpr std::int64_t kWidestBlock = 8192;

// The greatest divisor of the ranks up to their square root: the rows of a grid as square as
// possible with no more rows than columns, because interchanges across rows wait and broadcasts
// along them don't.
int usual_grid_rows(int ranks);

// Operation count of a solution of order n by definition: HPL's.
constexpr double operations(double n) { return (2.0 / 3.0 * n + 3.0 / 2.0) * n * n; }

// Leading dimension of a column-major matrix of that many rows: whole cache lines, an odd number of
// them, so that the entries of a row are spread over all sets of a cache.
std::int64_t padded(std::int64_t rows);

// Maximum number of doubles that a rank needs for such a system on that many ranks: its part of the
// matrix, depth + 1 panels, and the rows of U (with several grid rows).
double doubles_per_rank(const Settings& settings, int ranks);

// Maximum total bytes of a rank.
double bytes_per_rank(const Settings& settings, int ranks);

// The greatest order that needs no more than `bytes`; at least 1.
std::int64_t largest_order(Settings settings, int ranks, double bytes);

}  // namespace assay::linpack
