// Gives tests/native/linpack/test_linpack_messages.py access to Linpack's distribution, panel
// broadcasts, row interchanges and search: reads questions on stdin of rank 0, one per line, and
// answers each with a line. Questions about messages give the number of participating ranks.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <istream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "check_questions.hpp"
#include "linpack/broadcast.hpp"
#include "linpack/distribution.hpp"
#include "linpack/row_swaps.hpp"
#include "linpack/search.hpp"

using namespace assay::linpack;

namespace {

bool speaks() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

// The first `ranks` ranks, and this one's number among them; MPI_COMM_NULL on the others.
class Some {
 public:
  explicit Some(int ranks) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_split(MPI_COMM_WORLD, rank_ < ranks ? 0 : MPI_UNDEFINED, rank_, &comm_);
  }
  ~Some() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  Some(const Some&) = delete;
  Some& operator=(const Some&) = delete;
  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  bool takes_part() const { return comm_ != MPI_COMM_NULL; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
};

void tell_sum(std::int64_t wrong) {
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (speaks()) std::printf("%lld\n", static_cast<long long>(wrong));
}

// size block parts: for each index its owner and local index, for each part its count, and for each
// part and limit the number of indices below.
void cyclic(std::istream& in) {
  Cyclic cyclic;
  in >> cyclic.size >> cyclic.block >> cyclic.parts;
  if (!speaks()) return;
  for (std::int64_t i = 0; i < cyclic.size; ++i) {
    const std::int64_t local = cyclic.local(i);
    std::printf("%d %lld %d ", cyclic.owner(i), static_cast<long long>(local),
                cyclic.global(local, cyclic.owner(i)) == i);
  }
  for (int part = 0; part < cyclic.parts; ++part) {
    for (std::int64_t limit = 0; limit <= cyclic.size; ++limit) {
      std::printf("%lld ", static_cast<long long>(cyclic.below(limit, part)));
    }
    std::printf("%lld ", static_cast<long long>(cyclic.count(part)));
  }
  std::printf("\n");
}

// scheme ranks root count: for each rank its messages, "+" for incoming, "-" for outgoing ones.
void schedule(std::istream& in) {
  int scheme = 0;
  int ranks = 0;
  int root = 0;
  std::size_t count = 0;
  in >> scheme >> ranks >> root >> count;
  if (!speaks()) return;
  for (int rank = 0; rank < ranks; ++rank) {
    const Schedule found =
        broadcast_schedule(static_cast<BroadcastScheme>(scheme), rank, ranks, root, count);
    for (const Incoming& each : found.incoming) {
      std::printf("%d,+,%d,%zu,%zu ", rank, each.from, each.begin, each.count);
    }
    for (const Outgoing& each : found.outgoing) {
      std::printf("%d,-,%d,%zu,%zu,%zu,%zu ", rank, each.to, each.begin, each.count, each.after,
                  each.behind);
    }
  }
  std::printf("\n");
}

// A buffer whose every value identifies its broadcast, with guard values around it.
class Message {
 public:
  Message(std::size_t count, int key, bool known) : key_(key), values_(count + 2, -1.0) {
    if (known) fill();
  }
  double* data() { return values_.data() + 1; }
  std::int64_t wrong() const {
    std::int64_t found = values_.front() != -1.0 || values_.back() != -1.0 ? 1 : 0;
    for (std::size_t i = 1; i + 1 < values_.size(); ++i) found += values_[i] != value(i) ? 1 : 0;
    return found;
  }

 private:
  double value(std::size_t i) const { return static_cast<double>(key_) * 1e8 + double(i); }
  void fill() {
    for (std::size_t i = 1; i + 1 < values_.size(); ++i) values_[i] = value(i);
  }
  int key_;
  std::vector<double> values_;
};

// scheme ranks root count rounds seed: broadcasts by two objects concurrently, round after round
// with the next root, progressed by progress() in an order that each rank draws itself; the first
// two together, the last round by waiting. Returns the number of wrong values on all ranks.
void broadcast(std::istream& in) {
  int scheme = 0;
  int ranks = 0;
  int root = 0;
  std::size_t count = 0;
  int rounds = 0;
  unsigned seed = 0;
  in >> scheme >> ranks >> root >> count >> rounds >> seed;
  const Some some(ranks);
  std::int64_t wrong = 0;
  if (some.takes_part()) {
    std::mt19937 draw(seed + static_cast<unsigned>(some.rank()));
    PanelBroadcast one(some.comm(), static_cast<BroadcastScheme>(scheme));
    PanelBroadcast other(some.comm(), static_cast<BroadcastScheme>(scheme));
    if (!one.progress()) ++wrong;  // nothing was started
    one.finish();
    for (int round = 0; round < rounds; ++round) {
      const int first = (root + round) % ranks;
      const int second = (first + 1) % ranks;
      Message a(count, 2 * round, some.rank() == first);
      Message b(count / 2 + 1, 2 * round + 1, some.rank() == second);
      one.start(a.data(), count, first);
      for (unsigned polls = draw() % 50; polls > 0; --polls) one.progress();
      other.start(b.data(), count / 2 + 1, second);
      if (round + 1 < rounds) {
        bool done[] = {false, false};
        while (!done[0] || !done[1]) {
          const unsigned which = draw() % 2;
          const bool now = (which == 0 ? one : other).progress();
          if (done[which] && !now) ++wrong;  // done once means done for good
          done[which] = now;
          if (draw() % 8 == 0) sched_yield();
        }
      } else {
        other.finish();
        one.finish();
      }
      wrong += a.wrong() + b.wrong();
    }
  }
  tell_sum(wrong);
}

// Three ranks: the first has a long message for each of the others, the second message to be sent
// when the first is complete. The first receiver doesn't receive before the second has polled for
// its message for a while. Returns how many of them it saw too early, and the number of wrong
// values at the end.
void order(std::istream&) {
  constexpr std::size_t kCount = std::size_t{1} << 20;
  const Some some(3);
  std::int64_t wrong = 0;
  if (some.takes_part()) {
    std::vector<double> values(kCount, some.rank() == 0 ? 7.0 : 0.0);
    Schedule schedule;
    if (some.rank() == 0) {
      schedule.outgoing = {{1, 0, 0, kCount}, {2, 0, 0, kCount, 0, 1}};
    } else {
      schedule.incoming = {{0, 0, 0, kCount}};
    }
    Transfers transfers;
    if (some.rank() == 1) MPI_Recv(nullptr, 0, MPI_INT, 2, 9, some.comm(), MPI_STATUS_IGNORE);
    transfers.start(some.comm(), schedule, values.data(), 1, 0);
    if (some.rank() == 2) {
      for (int polls = 0; polls < 5000; ++polls) {
        if (transfers.progress()) ++wrong;
        sched_yield();
      }
      MPI_Send(nullptr, 0, MPI_INT, 1, 9, some.comm());
    }
    transfers.finish();
    for (const double each : values) wrong += each != 7.0 ? 1 : 0;
  }
  tell_sum(wrong);
}

double entry(std::int64_t row, std::int64_t column) {
  return static_cast<double>(row * 100'000 + column);
}

// scheme ranks size block first count columns from padding polls pivots…: interchanges on the
// columns from `from`, of a matrix whose entries identify their original place; U is separate, and
// in the matrix if one rank has all. Returns the number of wrong values, of the matrix, of U, or
// around either; plus 1 for each rank that had to wait but was not polled.
void swap(std::istream& in) {
  int scheme = 0;
  int ranks = 0;
  Cyclic rows;
  std::int64_t first = 0;
  std::int32_t count = 0;
  std::int64_t columns = 0;
  std::int64_t from = 0;
  std::int64_t padding = 0;
  in >> scheme >> ranks >> rows.size >> rows.block >> first >> count >> columns >> from >> padding;
  rows.parts = ranks;
  std::vector<std::int64_t> pivots(static_cast<std::size_t>(count));
  for (std::int64_t& each : pivots) in >> each;

  // The reference: whole rows, exchanged one after the other.
  std::vector<std::int64_t> stands(static_cast<std::size_t>(rows.size));
  for (std::int64_t i = 0; i < rows.size; ++i) stands[static_cast<std::size_t>(i)] = i;
  for (std::int32_t j = 0; j < count; ++j) {
    std::swap(stands[static_cast<std::size_t>(first + j)],
              stands[static_cast<std::size_t>(pivots[static_cast<std::size_t>(j)])]);
  }

  const Some some(ranks);
  std::int64_t wrong = 0;
  if (some.takes_part()) {
    const SwapPlan plan = plan_swaps(pivots.data(), count, first, rows);
    std::int64_t polls = 0;
    RowSwaps swaps(some.comm(), static_cast<SwapScheme>(scheme), [&] { ++polls; });
    for (const bool in_place : {false, true}) {
      if (in_place && ranks > 1) continue;
      const std::int64_t local = rows.count(some.rank());
      const std::int64_t lda = local + padding;
      const std::int64_t ldu = in_place ? lda : count + padding;
      std::vector<double> a(static_cast<std::size_t>(lda * columns), -1.0);
      std::vector<double> apart(static_cast<std::size_t>(ldu * (columns - from)), -2.0);
      for (std::int64_t c = 0; c < columns; ++c) {
        for (std::int64_t r = 0; r < local; ++r) {
          a[static_cast<std::size_t>(r + c * lda)] = entry(rows.global(r, some.rank()), c);
        }
      }
      double* const u =
          in_place ? &a[static_cast<std::size_t>(plan.first_row + from * lda)] : apart.data();
      for (int again = 0; again < 2; ++again) {
        // Twice with the columns in two parts, as with look-ahead: none is touched twice.
        const std::int64_t middle = (from + columns) / 2;
        const std::int64_t begin = again == 0 ? from : middle;
        swaps.apply(plan, a.data(), lda, begin, again == 0 ? middle : columns,
                    u + (begin - from) * ldu, ldu);
      }
      for (std::int64_t c = 0; c < columns; ++c) {
        for (std::int64_t r = 0; r < lda; ++r) {
          double expected = -1.0;
          if (r < local) {
            const std::int64_t row = rows.global(r, some.rank());
            const bool panels = row >= first && row < first + count;
            const bool moved = c >= from && (!panels || in_place);
            expected = entry(moved ? stands[static_cast<std::size_t>(row)] : row, c);
          }
          wrong += a[static_cast<std::size_t>(r + c * lda)] != expected ? 1 : 0;
        }
      }
      for (std::int64_t c = from; !in_place && c < columns; ++c) {
        for (std::int64_t j = 0; j < ldu; ++j) {
          const double expected =
              j < count ? entry(stands[static_cast<std::size_t>(first + j)], c) : -2.0;
          wrong += apart[static_cast<std::size_t>(j + (c - from) * ldu)] != expected ? 1 : 0;
        }
      }
    }
    if (ranks > 1 && count > 0 && columns > from && polls == 0) ++wrong;
  }
  tell_sum(wrong);
}

// A machine whose solutions take a known time: products run at a rate that depends on the width
// with an optimum; panels take time in proportion to the width; messages cost by scheme and grid.
// Drawn from a seed.
class Machine {
 public:
  Machine(int ranks, unsigned seed) : ranks_(ranks) {
    std::mt19937 draw(seed);
    const auto between = [&](double low, double high) {
      return std::uniform_real_distribution<double>(low, high)(draw);
    };
    rate_ = std::exp(between(std::log(1e9), std::log(2e11)));
    narrow_ = between(4.0, 30.0);
    panel_ = between(0.3, 4.0);
    network_ = std::exp(between(std::log(1e-3), std::log(0.3)));
    for (double& each : broadcast_) each = between(1.0, 1.2);
    for (double& each : swap_) each = between(1.0, 1.2);
    exposed_ = between(0.8, 1.6);
  }

  double seconds(const Candidate& c, std::int64_t order) const {
    const auto n = static_cast<double>(order);
    const auto nb = static_cast<double>(c.nb);
    const double p = c.p;
    const double q = double(ranks_) / p;
    const double flops = 2.0 / 3.0 * n * n * n;
    const double update = flops / (rate_ * ranks_) * (1.0 + narrow_ / nb);
    const double panel = panel_ * n * n * nb / (p * rate_);
    const double words = n * n / rate_ * 1000.0 * network_;
    const double sent = words / p * (q > 1 ? broadcast_[int(c.broadcast)] : 0.0);
    const double swapped = words / q * (p > 1 ? 1.5 * swap_[int(c.swap)] : 0.0);
    // Look-ahead hides panels and broadcasts as far as the update takes time.
    const double hidden = c.depth > 0 && q > 1 ? 0.7 * std::min(update, panel + sent) : 0.0;
    return update + panel + sent + swapped - hidden +
           (c.depth == 0 ? 0.0 : exposed_ * 1e-3 * update);
  }

  // The minimum over all candidates.
  double least(std::int64_t n) const {
    double found = seconds({1, 1}, n);
    for (int p = 1; p <= ranks_; ++p) {
      if (ranks_ % p != 0 || ranks_ / p > 64 * p || p > 4 * (ranks_ / p)) continue;
      for (const std::int64_t nb : widths_to_try(n)) {
        for (int scheme = 0; scheme < 18 * 2; ++scheme) {
          const Candidate c{nb, p, static_cast<BroadcastScheme>(scheme % 6),
                            static_cast<SwapScheme>(scheme / 6 % 3), scheme / 18};
          found = std::min(found, seconds(c, n));
        }
      }
    }
    return found;
  }

 private:
  int ranks_;
  double rate_;
  double narrow_;
  double panel_;
  double network_;
  double broadcast_[6];
  double swap_[3];
  double exposed_;
};

// ranks seconds n noise seed: a search on such a machine, whose trials are longer than the true
// time by an exponentially distributed share. Returns the time of the choice relative to the
// optimum at the last order; that order; the time taken; the number of trials; and the last order
// relative to the first.
void search(std::istream& in) {
  SearchLimits limits;
  double noise = 0.0;
  unsigned seed = 0;
  in >> limits.ranks >> limits.seconds >> limits.n >> noise >> seed;
  limits.largest = 100'000;
  limits.seed = seed;
  if (!speaks()) return;
  const Machine machine(limits.ranks, seed);
  std::mt19937 draw(seed + 1);
  std::exponential_distribution<double> longer(1.0);
  double clock = 0.0;
  Search search(
      limits,
      [&](const Candidate& candidate, std::int64_t n) {
        const double took = machine.seconds(candidate, n) * (1.0 + noise * longer(draw));
        clock += 1.05 * took;
        return took;
      },
      [&] { return clock; });
  const SearchOutcome outcome = search.run();
  std::size_t trials = 0;
  for (const Trials& each : outcome.trials) trials += each.seconds.size();
  std::printf("%.17g %lld %.17g %zu %.17g %lld %d %d %d %d\n",
              machine.seconds(outcome.choice, outcome.n) / machine.least(outcome.n),
              static_cast<long long>(outcome.n), clock, trials,
              double(outcome.n) / double(outcome.trials.front().n),
              static_cast<long long>(outcome.choice.nb), outcome.choice.p,
              int(outcome.choice.broadcast), int(outcome.choice.swap), outcome.choice.depth);
}

const assay::check::Questions questions = {{"cyclic", cyclic},       {"schedule", schedule},
                                           {"broadcast", broadcast}, {"order", order},
                                           {"swap", swap},           {"search", search}};

}  // namespace

int main(int argc, char** argv) { return assay::check::answer_all(argc, argv, questions); }
