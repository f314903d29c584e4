#include <bit>

#include "linpack/row_swaps.hpp"

namespace assay::linpack {
namespace {

// Rows of U and displaced rows use different tags, so that they can't be confused.
constexpr int kPivots = 0;
constexpr int kDisplaced = 1;

std::size_t displaced_rows(const SwapPlan& plan, int rank) {
  return plan.risen[static_cast<std::size_t>(rank)].size();
}

std::size_t u_rows(const SwapPlan& plan, int rank) {
  return displaced_rows(plan, rank) + (rank == plan.owner ? plan.kept.size() : 0);
}

// A range of rows of the buffer.
struct Rows {
  std::size_t begin;
  std::size_t end;
};

void get(Schedule& schedule, int from, int tag, Rows rows) {
  if (rows.begin == rows.end) return;
  schedule.incoming.push_back({from, tag, rows.begin, rows.end - rows.begin});
}

// Sends once all messages that are scheduled to arrive so far have arrived.
void give(Schedule& schedule, int to, int tag, Rows rows) {
  if (rows.begin == rows.end) return;
  const std::size_t after = schedule.incoming.size();
  schedule.outgoing.push_back({to, tag, rows.begin, rows.end - rows.begin, after});
}

Schedule spread(const SwapPlan& plan, int rank, SwapPieces& pieces) {
  const int ranks = static_cast<int>(plan.risen.size());
  for (int r = 0; r < ranks; ++r) {
    pieces.u[static_cast<std::size_t>(r)] = pieces.rows;
    pieces.rows += u_rows(plan, r);
  }
  for (int r = 0; r < ranks; ++r) {
    pieces.displaced[static_cast<std::size_t>(r)] = pieces.rows;
    pieces.rows += displaced_rows(plan, r);
  }
  const auto part = [&](int r) {
    const std::size_t begin = pieces.u[static_cast<std::size_t>(r)];
    return Rows{begin, begin + u_rows(plan, r)};
  };
  const auto displaced = [&](int r) {
    const std::size_t begin = pieces.displaced[static_cast<std::size_t>(r)];
    return Rows{begin, begin + displaced_rows(plan, r)};
  };

  Schedule schedule;
  const int next = (rank + 1) % ranks;
  const int previous = (rank - 1 + ranks) % ranks;
  give(schedule, next, kPivots, part(rank));
  if (rank == plan.owner) {
    for (int step = 1; step < ranks; ++step) {
      const int to = (rank + step) % ranks;
      give(schedule, to, kDisplaced, displaced(to));
    }
  }
  for (int step = 1; step < ranks; ++step) {
    const int from = (rank - step + ranks) % ranks;  // the rank whose part arrives
    get(schedule, previous, kPivots, part(from));
    if (from != next) give(schedule, next, kPivots, part(from));
  }
  if (rank != plan.owner) get(schedule, plan.owner, kDisplaced, displaced(rank));
  return schedule;
}

// The lowest `bits` bits of `number`, reversed.
int reversed(int number, int bits) {
  int result = 0;
  for (int bit = 0; bit < bits; ++bit) result |= (number >> bit & 1) << (bits - 1 - bit);
  return result;
}

// Ranks are counted from the owner, so that its displaced rows travel down a binomial tree. The
// first 2^bits of them are the corners of a hypercube; each further rank is attached to a corner,
// which communicates for both. In the step across the edges of length `mask`, from the longest to
// the shortest, a corner has the parts of all corners that differ from it in longer edges only, and
// receives as many more from across the edge. With the corners' parts in bit-reversed order of
// their numbers, such parts are contiguous. The corners that a holder of displaced rows still has
// to serve differ from it in shorter edges only, and are contiguous in natural order.
Schedule exchange(const SwapPlan& plan, int rank, SwapPieces& pieces) {
  const int ranks = static_cast<int>(plan.risen.size());
  const int bits = std::bit_width(static_cast<unsigned>(ranks)) - 1;
  const int corners = 1 << bits;
  const auto real = [&](int number) { return (number + plan.owner) % ranks; };

  // First row of each corner's part, in each order, and the end.
  std::vector<std::size_t> u(static_cast<std::size_t>(corners) + 1);
  std::vector<std::size_t> displaced(u.size());
  for (int i = 0; i < corners; ++i) {
    u[static_cast<std::size_t>(i)] = pieces.rows;
    for (int number = reversed(i, bits); number < ranks; number += corners) {
      pieces.u[static_cast<std::size_t>(real(number))] = pieces.rows;
      pieces.rows += u_rows(plan, real(number));
    }
  }
  u.back() = pieces.rows;
  for (int corner = 0; corner < corners; ++corner) {
    displaced[static_cast<std::size_t>(corner)] = pieces.rows;
    for (int number = corner; number < ranks; number += corners) {
      pieces.displaced[static_cast<std::size_t>(real(number))] = pieces.rows;
      pieces.rows += displaced_rows(plan, real(number));
    }
  }
  displaced.back() = pieces.rows;

  const auto own = [&](int number, const std::vector<std::size_t>& starts, std::size_t rows) {
    const std::size_t begin = starts[static_cast<std::size_t>(real(number))];
    return Rows{begin, begin + rows};
  };
  const auto part = [&](int number) { return own(number, pieces.u, u_rows(plan, real(number))); };
  const auto due = [&](int number) {
    return own(number, pieces.displaced, displaced_rows(plan, real(number)));
  };

  Schedule schedule;
  const int me = (rank - plan.owner + ranks) % ranks;
  if (me >= corners) {
    const int corner = real(me - corners);
    give(schedule, corner, kPivots, part(me));
    get(schedule, corner, kPivots, {u.front(), part(me).begin});
    get(schedule, corner, kPivots, {part(me).end, u.back()});
    get(schedule, corner, kDisplaced, due(me));
    return schedule;
  }
  const int behind = me + corners;
  if (behind < ranks) get(schedule, real(behind), kPivots, part(behind));
  for (int mask = corners / 2; mask > 0; mask /= 2) {
    const int across = me ^ mask;
    const auto known = [&](int corner) {
      const auto first = static_cast<std::size_t>(reversed(corner & (2 * mask - 1), bits));
      return Rows{u[first], u[first + static_cast<std::size_t>(corners / (2 * mask))]};
    };
    // The corners from the upper end of the edge on, if its lower end holds their rows.
    const auto served = [&](int upper) {
      const auto first = static_cast<std::size_t>(upper);
      return Rows{displaced[first], displaced[first + static_cast<std::size_t>(mask)]};
    };
    give(schedule, real(across), kPivots, known(me));
    if (me % (2 * mask) == 0) give(schedule, real(across), kDisplaced, served(across));
    get(schedule, real(across), kPivots, known(across));
    if (me % (2 * mask) == mask) get(schedule, real(across), kDisplaced, served(me));
  }
  if (behind < ranks) {
    give(schedule, real(behind), kPivots, {u.front(), part(behind).begin});
    give(schedule, real(behind), kPivots, {part(behind).end, u.back()});
    give(schedule, real(behind), kDisplaced, due(behind));
  }
  return schedule;
}

}  // namespace

Schedule swap_schedule(SwapScheme scheme, const SwapPlan& plan, int rank, SwapPieces& pieces) {
  pieces.u.assign(plan.risen.size(), 0);
  pieces.displaced.assign(plan.risen.size(), 0);
  pieces.rows = 0;
  return scheme == SwapScheme::exchange ? exchange(plan, rank, pieces) : spread(plan, rank, pieces);
}

}  // namespace assay::linpack
