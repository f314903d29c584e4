#include "linpack/search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

namespace assay::linpack {
namespace {

// One trial's share of the time. The stages before the last need 30 to 40 trials on few ranks, so
// the last stage has nearly half of the time.
constexpr double kTrial = 1.0 / 64.0;
// The shares of the time after which each stage ends.
constexpr double kWidths = 0.35;
constexpr double kGrids = 0.5;
constexpr double kSchemes = 0.65;
constexpr double kFinalists = 0.9;
// Rounds of all its candidates for which the last stage's time suffices.
constexpr double kFinalTurns = 2.5;
// A candidate slower than the best by this factor is always dropped. The factor is three times the
// usual difference between trials of one candidate.
constexpr double kHopeless = 1.15;
// Two candidates that differ by less count as equal.
constexpr double kEqual = 1.01;
constexpr std::int64_t kPanels = 10;  // of a trial, minimum
// Maximum number of rounds with two candidates left.
constexpr int kMostTurns = 6;

std::int64_t nearest_width(std::int64_t n, double wanted) {
  const std::vector<std::int64_t> widths = widths_to_try(n);
  return *std::min_element(widths.begin(), widths.end(), [&](std::int64_t x, std::int64_t y) {
    return std::abs(static_cast<double>(x) - wanted) < std::abs(static_cast<double>(y) - wanted);
  });
}

}  // namespace

double Trials::best() const { return *std::min_element(seconds.begin(), seconds.end()); }

std::vector<std::int64_t> widths_to_try(std::int64_t n) {
  std::vector<std::int64_t> found;
  for (const std::int64_t nb : {32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512}) {
    if (nb * kPanels <= n) found.push_back(nb);
  }
  // The narrowest width is for orders that allow few others.
  if (found.size() > 4) found.erase(found.begin());
  if (found.empty()) found.push_back(std::max<std::int64_t>(n / kPanels, 1));
  return found;
}

std::vector<int> grids_to_try(int ranks) {
  std::vector<int> found;
  for (int p = 1; p <= ranks; ++p) {
    const std::int64_t q = ranks / p;
    if (ranks % p == 0 && q <= 64LL * p && p <= 4 * q) found.push_back(p);
  }
  if (found.empty()) found.push_back(1);  // for a large prime all grids are too flat
  return found;
}

std::vector<BroadcastScheme> broadcasts_to_try(int columns) {
  using enum BroadcastScheme;
  if (columns < 2) return {modified_ring};
  // The only other rank is the root's neighbour: all schemes but the library's are the same.
  if (columns == 2) return {modified_ring, library};
  // Two rings of one rank each.
  if (columns == 3) return {modified_ring, library, ring, bandwidth};
  return {modified_ring, library, ring, two_rings, modified_two_rings, bandwidth};
}

std::vector<SwapScheme> swaps_to_try(int rows) {
  using enum SwapScheme;
  // Between two ranks both schemes exchange the same messages.
  if (rows < 3) return {automatic};
  return {automatic, exchange, spread};
}

Search::Search(const SearchLimits& limits, Measure measure, Clock clock)
    : limits_(limits), measure_(std::move(measure)), clock_(std::move(clock)), draw_(limits.seed) {}

double Search::measure(const Candidate& candidate, std::int64_t n) {
  const double seconds = measure_(candidate, n);
  for (Trials& each : trials_) {
    if (each.candidate == candidate && each.n == n) {
      each.seconds.push_back(seconds);
      return seconds;
    }
  }
  trials_.push_back({candidate, n, {seconds}});
  return seconds;
}

double Search::fastest(const Candidate& candidate, std::int64_t n) const {
  for (const Trials& each : trials_) {
    if (each.candidate == candidate && each.n == n) return each.best();
  }
  return std::numeric_limits<double>::infinity();
}

// The order at which a trial takes its share of the time. Small orders are far from their best
// rate, so that the result, scaled by the cube from an order that takes an eighth as long, is
// slightly too small.
std::int64_t Search::find_order(const Candidate& candidate) {
  if (limits_.n > 0) return limits_.n;
  const double wanted = kTrial * limits_.seconds;
  std::int64_t n = std::min<std::int64_t>(512, limits_.largest);
  for (;;) {
    Candidate narrow = candidate;
    narrow.nb = std::min(candidate.nb, std::max<std::int64_t>(n / kPanels, 1));
    // Two trials, because caches and connections are cold in the first.
    const double first = measure_(narrow, n);
    const double took = std::min(first, measure_(narrow, n));
    const double factor = std::cbrt(wanted / std::max(took, 1e-9));
    const bool close = factor <= 2.0;
    const double next = static_cast<double>(n) * std::clamp(factor, 0.25, 2.0);
    n = std::clamp<std::int64_t>(static_cast<std::int64_t>(next), 1, limits_.largest);
    if (close || n == limits_.largest) return n;
  }
}

std::vector<Candidate> Search::race(std::vector<Candidate> candidates, std::int64_t n,
                                    double until) {
  std::size_t left = candidates.size();
  const auto best = [&](const Candidate& candidate) { return fastest(candidate, n); };
  for (int turn = 0; turn < kMostTurns; ++turn) {
    if (turn > 0) {
      double lasts = 0.0;
      for (std::size_t i = 0; i < left; ++i) lasts += best(candidates[i]);
      if (left < 2 || clock_() + lasts > until) break;
    }
    std::vector<std::size_t> order(left);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), draw_);
    for (const std::size_t i : order) {
      // At least one must be measured; candidates without time for a trial rank last.
      const bool known = std::isfinite(best(candidates.front())) || i != order.front();
      if (clock_() < limits_.seconds || !known) measure(candidates[i], n);
    }
    // Dropped candidates rank behind all others, whatever a later round measures.
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(left);
    std::stable_sort(candidates.begin(), end,
                     [&](const auto& x, const auto& y) { return best(x) < best(y); });
    left = std::max<std::size_t>((left + 1) / 2, std::min<std::size_t>(left, 2));
    const double hopeless = kHopeless * best(candidates.front());
    while (left > 1 && best(candidates[left - 1]) > hopeless) --left;
  }
  return candidates;
}

// Changes one scheme at a time and takes the best of each kind.
Candidate Search::best_schemes(const Candidate& from, std::int64_t n, double until) {
  std::vector<Candidate> candidates{from};
  const auto vary = [&](auto member, const auto& choices) {
    for (const auto& choice : choices) {
      Candidate other = from;
      other.*member = choice;
      if (!(other == from)) candidates.push_back(other);
    }
  };
  vary(&Candidate::broadcast, broadcasts_to_try(limits_.ranks / from.p));
  vary(&Candidate::swap, swaps_to_try(from.p));
  vary(&Candidate::depth, std::vector<int>{0});
  const std::vector<Candidate> ranked = race(candidates, n, until);
  Candidate together = from;
  // From the worst to the best that is better than the start.
  for (auto each = std::find(ranked.begin(), ranked.end(), from); each != ranked.begin();) {
    --each;
    if (each->broadcast != from.broadcast) together.broadcast = each->broadcast;
    if (each->swap != from.swap) together.swap = each->swap;
    if (each->depth != from.depth) together.depth = each->depth;
  }
  return together;
}

// Goes from width to width as long as that is faster and time remains, first to greater ones: the
// order has grown since the widths were tried. Of equal widths the middle one is chosen, the
// greater of two: the best is among them, and grows with the order.
Candidate Search::best_width(const Candidate& from, std::int64_t n) {
  const std::vector<std::int64_t> widths = widths_to_try(n);
  const auto with_width = [&](std::int64_t nb) {
    Candidate candidate = from;
    candidate.nb = nb;
    return candidate;
  };
  const auto seconds_of = [&](std::int64_t nb) {
    const Candidate candidate = with_width(nb);
    const double turn = 1.1 * fastest(from, n);
    // Two trials, if there is time.
    for (int turns = std::isfinite(fastest(candidate, n)) ? 2 : 0; turns < 2; ++turns) {
      if (clock_() + turn <= limits_.seconds) measure(candidate, n);
    }
    return fastest(candidate, n);
  };
  std::int64_t best = from.nb;
  const auto climb = [&](auto begin, auto end) {
    for (auto nb = begin; nb != end; ++nb) {
      if (seconds_of(*nb) >= seconds_of(best)) return;
      best = *nb;
    }
  };
  climb(std::upper_bound(widths.begin(), widths.end(), from.nb), widths.end());
  if (best == from.nb) {
    climb(std::make_reverse_iterator(std::lower_bound(widths.begin(), widths.end(), from.nb)),
          widths.rend());
  }
  const double enough = kEqual * seconds_of(best);
  std::vector<std::int64_t> equals;
  for (const Trials& each : trials_) {
    const bool same = each.n == n && each.candidate == with_width(each.candidate.nb);
    if (same && each.best() <= enough) equals.push_back(each.candidate.nb);
  }
  if (equals.empty()) return with_width(best);
  const auto middle = equals.begin() + static_cast<std::ptrdiff_t>(equals.size() / 2);
  std::nth_element(equals.begin(), middle, equals.end());
  return with_width(*middle);
}

SearchOutcome Search::run() {
  const auto part = [&](double share) { return share * limits_.seconds; };
  const std::vector<int> grids = grids_to_try(limits_.ranks);
  Candidate base;
  base.nb = 128;
  // As square as possible, with no more rows than columns.
  for (const int p : grids) {
    if (p <= limits_.ranks / p) base.p = p;
  }
  const std::int64_t n = find_order(base);

  std::vector<Candidate> candidates;
  for (const std::int64_t nb : widths_to_try(n)) {
    candidates.push_back(base);
    candidates.back().nb = nb;
  }
  const std::vector<Candidate> widths = race(candidates, n, part(kWidths));

  candidates.clear();
  for (const int p : grids) {
    Candidate candidate = widths.front();
    candidate.p = p;
    candidates.push_back(candidate);
    // A panel's cost grows as nb / p and that of narrow products falls as 1 / nb: their sum is
    // minimal where nb is proportional to the root of p.
    const double suited = static_cast<double>(candidate.nb) * std::sqrt(double(p) / base.p);
    candidate.nb = nearest_width(n, suited);
    if (!(candidate == candidates.back())) candidates.push_back(candidate);
  }
  const std::vector<Candidate> shapes = race(candidates, n, part(kGrids));
  const Candidate best = best_schemes(shapes.front(), n, part(kSchemes));

  // The best widths and the second grid with the best schemes, and the candidates from which the
  // schemes were tried.
  std::vector<Candidate> finalists{best};
  const auto add = [&](Candidate candidate) {
    const bool known = std::find(finalists.begin(), finalists.end(), candidate) != finalists.end();
    if (!known) finalists.push_back(candidate);
  };
  if (widths.size() > 1) {
    Candidate candidate = best;
    candidate.nb = widths[1].nb;
    add(candidate);
  }
  add(shapes.front());
  const auto other = std::find_if(shapes.begin(), shapes.end(),
                                  [&](const Candidate& each) { return each.p != best.p; });
  if (other != shapes.end()) {
    Candidate candidate = best;
    candidate.p = other->p;
    candidate.nb = other->nb;
    add(candidate);
  }

  std::int64_t last = n;
  if (limits_.n == 0) {
    const double left = std::max(limits_.seconds - clock_(), 0.0);
    const double trial = left / (kFinalTurns * static_cast<double>(finalists.size()));
    const double factor = std::cbrt(trial / fastest(shapes.front(), n));
    last = std::clamp<std::int64_t>(static_cast<std::int64_t>(factor * static_cast<double>(n)), n,
                                    limits_.largest);
  }
  const Candidate winner = race(finalists, last, part(kFinalists)).front();
  return {best_width(winner, last), last, trials_};
}

}  // namespace assay::linpack
