#include "linpack/row_swaps.hpp"

#include <algorithm>
#include <bit>

namespace assay::linpack {
namespace {

// Doubles of U in a chunk of columns: half a MiB, or 64 KiB per rank if that is more. Short enough
// for the caches and for one chunk to be copied while the next is sent, and long enough for
// messages, of about a rank's part each, to take longer than their latency.
constexpr std::int64_t kChunk = std::int64_t{1} << 16;
constexpr std::int64_t kChunkOfRank = std::int64_t{1} << 13;

std::int64_t chunk_width(std::int64_t count, int ranks) {
  return std::max<std::int64_t>(std::max(kChunk, kChunkOfRank * ranks) / count, 8);
}

// Minimum number of columns for a parallel region.
constexpr std::int64_t kParallelColumns = 16;

// Prefetch distance in columns.
constexpr std::int64_t kAhead = 2;

// Scattered rows are one cache line each, which hardware can't predict: prefetching halves the
// time.
void fetch(const std::vector<SwapPlan::Risen>& rows, const double* column) {
  for (const SwapPlan::Risen& each : rows) __builtin_prefetch(column + each.row, 1);
}

// All rows are on this rank. Each column's rows of the panel are copied first, because U may
// overlap them.
void swap_here(const SwapPlan& plan, double* a, std::int64_t lda, std::int64_t width, double* u,
               std::int64_t ldu) {
  const std::vector<SwapPlan::Risen>& risen = plan.risen.front();
#pragma omp parallel if (width >= kParallelColumns)
  {
    std::vector<double> tops(static_cast<std::size_t>(plan.count));
#pragma omp for schedule(static)
    for (std::int64_t c = 0; c < width; ++c) {
      double* const column = a + c * lda;
      double* const out = u + c * ldu;
      if (c + kAhead < width) fetch(risen, column + kAhead * lda);
      std::copy_n(column + plan.first_row, plan.count, tops.begin());
      for (const SwapPlan::Risen& each : risen) {
        out[each.u] = column[each.row];
        column[each.row] = tops[static_cast<std::size_t>(each.top)];
      }
      for (const SwapPlan::Kept& each : plan.kept) {
        out[each.u] = tops[static_cast<std::size_t>(each.top)];
      }
    }
  }
}

}  // namespace

RowSwaps::RowSwaps(MPI_Comm column, SwapScheme scheme, std::function<void()> poll)
    : scheme_(scheme), poll_(std::move(poll)) {
  MPI_Comm_dup(column, &column_);
  MPI_Comm_rank(column_, &rank_);
  MPI_Comm_size(column_, &ranks_);
}

RowSwaps::~RowSwaps() { MPI_Comm_free(&column_); }

std::size_t RowSwaps::memory(std::int32_t count, int ranks) {
  if (ranks == 1 || count == 0) return 0;
  // Two chunks, each with no more displaced rows than pivot rows.
  const std::int64_t chunk = 2 * count * chunk_width(count, ranks);
  return 2 * static_cast<std::size_t>(chunk) * sizeof(double);
}

SwapScheme RowSwaps::scheme_for(const SwapPlan& plan, std::int64_t width) const {
  if (scheme_ != SwapScheme::automatic) return scheme_;
  const bool cube = std::has_single_bit(static_cast<unsigned>(ranks_));
  const std::int64_t bytes = plan.count * width * static_cast<std::int64_t>(sizeof(double));
  return bytes < (cube ? 512 : 80) * 1024 ? SwapScheme::exchange : SwapScheme::spread;
}

void RowSwaps::pack(const SwapPlan& plan, const SwapPieces& pieces, Chunk& chunk,
                    std::int64_t lda) const {
  const std::vector<SwapPlan::Risen>& mine = plan.risen[static_cast<std::size_t>(rank_)];
  const bool owner = rank_ == plan.owner;
  const std::int64_t width = chunk.width;
  const auto start = [&](const std::vector<std::size_t>& starts, std::size_t rank) {
    return chunk.buffer.data() + static_cast<std::int64_t>(starts[rank]) * width;
  };
  double* const part = start(pieces.u, static_cast<std::size_t>(rank_));
  const std::size_t rows = mine.size() + (owner ? plan.kept.size() : 0);
#pragma omp parallel for schedule(static) if (width >= kParallelColumns)
  for (std::int64_t c = 0; c < width; ++c) {
    const double* const column = chunk.a + c * lda;
    double* out = part + c * static_cast<std::int64_t>(rows);
    if (c + kAhead < width) fetch(mine, column + kAhead * lda);
    for (const SwapPlan::Risen& each : mine) *out++ = column[each.row];
    if (!owner) continue;
    const double* const tops = column + plan.first_row;
    for (const SwapPlan::Kept& each : plan.kept) *out++ = tops[each.top];
    for (std::size_t rank = 0; rank < plan.risen.size(); ++rank) {
      const std::vector<SwapPlan::Risen>& theirs = plan.risen[rank];
      double* displaced =
          start(pieces.displaced, rank) + c * static_cast<std::int64_t>(theirs.size());
      for (const SwapPlan::Risen& each : theirs) *displaced++ = tops[each.top];
    }
  }
}

void RowSwaps::unpack(const SwapPlan& plan, const SwapPieces& pieces, const Chunk& chunk,
                      std::int64_t lda, std::int64_t ldu) const {
  const std::int64_t width = chunk.width;
  const auto start = [&](const std::vector<std::size_t>& starts, std::size_t rank) {
    return chunk.buffer.data() + static_cast<std::int64_t>(starts[rank]) * width;
  };
#pragma omp parallel for schedule(static) if (width >= kParallelColumns)
  for (std::int64_t c = 0; c < width; ++c) {
    double* const out = chunk.u + c * ldu;
    for (std::size_t rank = 0; rank < plan.risen.size(); ++rank) {
      const std::vector<SwapPlan::Risen>& theirs = plan.risen[rank];
      const bool owner = static_cast<int>(rank) == plan.owner;
      const std::size_t rows = theirs.size() + (owner ? plan.kept.size() : 0);
      const double* in = start(pieces.u, rank) + c * static_cast<std::int64_t>(rows);
      for (const SwapPlan::Risen& each : theirs) out[each.u] = *in++;
      if (!owner) continue;
      for (const SwapPlan::Kept& each : plan.kept) out[each.u] = *in++;
    }
    const auto me = static_cast<std::size_t>(rank_);
    const std::vector<SwapPlan::Risen>& mine = plan.risen[me];
    double* const column = chunk.a + c * lda;
    if (c + kAhead < width) fetch(mine, column + kAhead * lda);
    const double* in = start(pieces.displaced, me) + c * static_cast<std::int64_t>(mine.size());
    for (const SwapPlan::Risen& each : mine) column[each.row] = *in++;
  }
}

void RowSwaps::finish(Chunk& chunk) {
  poll_until([&] {
    if (poll_) poll_();
    for (Chunk& each : chunks_) each.transfers.progress();
    return chunk.transfers.progress();
  });
}

void RowSwaps::apply(const SwapPlan& plan, double* a, std::int64_t lda, std::int64_t first,
                     std::int64_t last, double* u, std::int64_t ldu) {
  const std::int64_t width = last - first;
  if (width <= 0 || plan.count == 0) return;
  a += first * lda;
  if (ranks_ == 1) {
    swap_here(plan, a, lda, width, u, ldu);
    return;
  }
  SwapPieces pieces;
  const Schedule schedule = swap_schedule(scheme_for(plan, width), plan, rank_, pieces);
  const std::int64_t most = chunk_width(plan.count, ranks_);
  std::size_t turn = 0;
  Chunk* before = nullptr;
  for (std::int64_t c = 0; c < width; c += most, turn ^= 1) {
    Chunk& chunk = chunks_[turn];
    chunk.a = a + c * lda;
    chunk.u = u + c * ldu;
    chunk.width = std::min(most, width - c);
    chunk.buffer.resize(
        std::max(chunk.buffer.size(), pieces.rows * static_cast<std::size_t>(chunk.width)));
    pack(plan, pieces, chunk, lda);
    chunk.transfers.start(column_, schedule, chunk.buffer.data(),
                          static_cast<std::size_t>(chunk.width), static_cast<int>(turn));
    if (before) {
      finish(*before);
      unpack(plan, pieces, *before, lda, ldu);
    }
    before = &chunk;
  }
  finish(*before);
  unpack(plan, pieces, *before, lda, ldu);
}

}  // namespace assay::linpack
