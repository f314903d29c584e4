#include "linpack/product.hpp"

#include <omp.h>

#include <algorithm>

namespace assay::linpack {
namespace {

// Rows and columns of a piece: two or three milliseconds of work, and large enough for nearly the
// speed of the whole product.
constexpr std::int64_t kPieceRows = 1024;
constexpr std::int64_t kPieceColumns = 512;
// Pieces per thread for an even distribution; pieces are no narrower than kLeastColumns.
constexpr std::int64_t kPiecesOfThread = 8;
constexpr std::int64_t kLeastColumns = 64;

void subtract_piece(const Product& all, std::int64_t row, std::int64_t rows, std::int64_t column,
                    std::int64_t columns) {
  blas::subtract_product(rows, columns, all.depth, {all.l.entries + row, all.l.leading},
                         {all.u.entries + column * all.u.leading, all.u.leading},
                         all.c + row + column * all.leading_c, all.leading_c);
}

// In pieces while the broadcast is active, then the rest in one piece.
void subtract_alone(const Product& all, PanelBroadcast* sent) {
  bool waiting = sent != nullptr && !sent->progress();
  for (std::int64_t column = 0; column < all.width;) {
    const std::int64_t left = all.width - column;
    const std::int64_t columns = waiting ? std::min(kPieceColumns, left) : left;
    for (std::int64_t row = 0; row < all.height;) {
      const std::int64_t rows = waiting ? std::min(kPieceRows, all.height - row) : all.height - row;
      subtract_piece(all, row, rows, column, columns);
      row += rows;
      if (waiting) waiting = !sent->progress();
    }
    column += columns;
  }
}

// Each thread takes the next piece when it has finished one; the first, which may call MPI,
// progresses the broadcast in between.
void subtract_together(const Product& all, int threads, PanelBroadcast* sent) {
  const std::int64_t down = (all.height + kPieceRows - 1) / kPieceRows;
  const std::int64_t wanted = kPiecesOfThread * threads / std::max<std::int64_t>(down, 1);
  const std::int64_t columns = std::clamp(all.width / std::max<std::int64_t>(wanted, 1) / 8 * 8,
                                          kLeastColumns, kPieceColumns);
  const std::int64_t pieces = down * ((all.width + columns - 1) / columns);
  if (sent != nullptr) sent->progress();
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const std::int64_t row = piece % down * kPieceRows;
    const std::int64_t column = piece / down * columns;
    subtract_piece(all, row, std::min(kPieceRows, all.height - row), column,
                   std::min(columns, all.width - column));
    if (sent != nullptr && omp_get_thread_num() == 0) sent->progress();
  }
}

}  // namespace

void subtract(const Product& product, int threads, PanelBroadcast* sent) {
  if (threads > 1) {
    subtract_together(product, threads, sent);
  } else {
    subtract_alone(product, sent);
  }
}

}  // namespace assay::linpack
