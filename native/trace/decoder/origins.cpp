// Delay costs: the ranks and places whose delays caused the waits of a trace (Böhme et al. 2016).
// The method is described in src/assay/models/program/origins.py, which calls this.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace {

using Index = std::int64_t;

// Excesses below this share of the times are rounding.
constexpr double kRounding = 1e-9;
constexpr Index kStart = -1;

}  // namespace

extern "C" {

// Events of all ranks, those of rank r from first[r] on, in order of time; times in s. `waited`:
// how long each waited; `number`: of its wait.
struct AssayEvents {
  const double* begin;
  const double* end;
  const std::int32_t* rank;
  const std::uint32_t* site;
  const double* waited;
  const Index* number;
  const Index* first;
  const double* rank_begin;
  Index ranks;
};

// Waits: the event that waited, the late one, and the s whose origin is asked for (0: none).
// `order`: from the last to the first late event.
struct AssayWaits {
  const Index* event;
  const Index* late;
  const double* seconds;
  const Index* order;
  Index count;
};

// When ranks were at the same point: of pairs of ranks (keys low * ranks + high, ascending), those
// of pair p are moment[pair_begin[p]] .. moment[pair_begin[p + 1]], ascending; the same for groups
// of ranks, member[g * ranks + r] says whether rank r is in group g.
struct AssayMoments {
  const Index* pair;
  const Index* pair_begin;
  const double* pair_moment;
  Index pairs;
  const std::uint8_t* member;
  const Index* group_begin;
  const double* group_moment;
  Index groups;
};

// One cost: rank, kind (0: computing, 1: communication), sites before and behind, s.
using AssayCost = void (*)(Index rank, Index kind, Index after, Index before, double direct,
                           double later);
}

namespace {

struct Place {
  Index kind, after, before;
  bool operator==(const Place&) const = default;
};

struct PlaceHash {
  std::size_t operator()(const Place& place) const {
    auto key = static_cast<std::uint64_t>(place.after + 1) * 0x9e3779b97f4a7c15ULL;
    key = (key ^ static_cast<std::uint64_t>(place.before + 1)) * 0xc2b2ae3d27d4eb4fULL;
    return static_cast<std::size_t>((key ^ (key >> 29)) + static_cast<std::uint64_t>(place.kind));
  }
};

using Times = std::unordered_map<Place, double, PlaceHash>;

struct Amount {
  Index wait;
  double seconds;
};

struct Spent {
  Times places;
  std::vector<Amount> waits;
};

struct Cost {
  double direct = 0.0, later = 0.0;
};

class Search {
 public:
  Search(const AssayEvents& events, const AssayWaits& waits, const AssayMoments& moments)
      : events_(events),
        waits_(waits),
        moments_(moments),
        handed_(static_cast<std::size_t>(waits.count), 0.0),
        costs_(static_cast<std::size_t>(events.ranks)) {}

  // s of waiting without an origin.
  double run() {
    double unknown = 0.0, whole_wait = 0.0;
    for (Index i = 0; i < waits_.count; ++i) whole_wait += waits_.seconds[i];
    // Waits that are not followed pass on any considerable cost that they get.
    const double least = kRounding * whole_wait;
    for (Index k = 0; k < waits_.count; ++k) {
      const Index i = waits_.order[k];
      const double wait = waits_.seconds[i], more = handed_[static_cast<std::size_t>(i)];
      if (wait == 0.0 && more <= least) {
        unknown += more;
        continue;
      }
      const double whole = excess(waits_.event[i], waits_.late[i]);
      if (whole <= kRounding * (wait + more)) {
        unknown += wait + more;
        continue;
      }
      const auto late = static_cast<std::size_t>(events_.rank[waits_.late[i]]);
      for (const auto& [place, amount] : delays_) {
        Cost& cost = costs_[late][place];
        cost.direct += wait * amount / whole;
        cost.later += more * amount / whole;
      }
      for (const Amount& one : waiting_) {
        handed_[static_cast<std::size_t>(one.wait)] += (wait + more) * one.seconds / whole;
      }
    }
    return unknown;
  }

  void tell(AssayCost found) const {
    for (std::size_t rank = 0; rank < costs_.size(); ++rank) {
      for (const auto& [place, cost] : costs_[rank]) {
        found(static_cast<Index>(rank), place.kind, place.after, place.before, cost.direct,
              cost.later);
      }
    }
  }

 private:
  // By how much the late rank's times exceed the waiting one's since they last met: delays by
  // place, and the late rank's own waits; their sum.
  double excess(Index event, Index late) {
    const Index mine = events_.rank[event], theirs = events_.rank[late];
    const double begin = met(mine, theirs, events_.begin[event]);
    spend(theirs, late, begin, late_);
    spend(mine, event, begin, waiter_);
    delays_.clear();
    double whole = 0.0;
    for (const Index kind : {0, 1}) whole += net(kind);
    double all_theirs = 0.0, all_mine = 0.0;
    for (const Amount& one : late_.waits) all_theirs += one.seconds;
    for (const Amount& one : waiter_.waits) all_mine += one.seconds;
    waiting_.clear();
    if (all_theirs > all_mine) {
      const double share = 1.0 - all_mine / all_theirs;
      for (const Amount& one : late_.waits) {
        waiting_.push_back({one.wait, one.seconds * share});
        whole += one.seconds * share;
      }
    }
    return whole;
  }

  // The last moment, up to a time, at which both ranks were at the same point.
  double met(Index one, Index other, double before) const {
    double latest = std::max(events_.rank_begin[one], events_.rank_begin[other]);
    const Index key = std::min(one, other) * events_.ranks + std::max(one, other);
    const Index* end = moments_.pair + moments_.pairs;
    const Index* pair = std::lower_bound(moments_.pair, end, key);
    if (pair != end && *pair == key) {
      const Index place = pair - moments_.pair;
      latest = last(moments_.pair_moment, moments_.pair_begin, place, before, latest);
    }
    for (Index group = 0; group < moments_.groups; ++group) {
      const std::uint8_t* member = moments_.member + group * events_.ranks;
      if (member[one] && member[other]) {
        latest = last(moments_.group_moment, moments_.group_begin, group, before, latest);
      }
    }
    return latest;
  }

  static double last(const double* moments, const Index* begins, Index place, double before,
                     double latest) {
    const double* from = moments + begins[place];
    const double* found = std::upper_bound(from, moments + begins[place + 1], before);
    return found == from ? latest : std::max(latest, found[-1]);
  }

  // A rank's activity from a time to the beginning of an event.
  void spend(Index rank, Index until, double begin, Spent& spent) const {
    spent.places.clear();
    spent.waits.clear();
    const Index first = events_.first[rank];
    for (Index i = until;;) {
      const double start = i > first ? events_.end[i - 1] : events_.rank_begin[rank];
      const double here = events_.begin[i] - std::max(start, begin);
      if (here > 0.0) {
        const Index after = i > first ? static_cast<Index>(events_.site[i - 1]) : kStart;
        spent.places[{0, after, static_cast<Index>(events_.site[i])}] += here;
      }
      --i;
      if (i < first || events_.end[i] <= begin) return;
      // A wait ends within its call; one that ended at the common moment is over.
      const double waited = events_.waited[i], wait_end = events_.begin[i] + waited;
      const double inside = wait_end - std::max(events_.begin[i], begin);
      if (waited > 0.0 && inside > 0.0) spent.waits.push_back({events_.number[i], inside});
      const double busy = events_.end[i] - std::max(wait_end, begin);
      const auto site = static_cast<Index>(events_.site[i]);
      if (busy > 0.0) spent.places[{1, site, site}] += busy;
    }
  }

  // Adds the late rank's times of a kind above the waiting one's, place by place; their sum. Places
  // that only one of them has are netted in proportion.
  double net(Index kind) {
    double alone = 0.0, other = 0.0, whole = 0.0;
    for (const auto& [place, time] : late_.places) {
      if (place.kind == kind && !waiter_.places.contains(place)) alone += time;
    }
    for (const auto& [place, time] : waiter_.places) {
      if (place.kind == kind && !late_.places.contains(place)) other += time;
    }
    const double share = alone > 0.0 ? std::max(0.0, 1.0 - other / alone) : 0.0;
    for (const auto& [place, time] : late_.places) {
      if (place.kind != kind) continue;
      const auto mine = waiter_.places.find(place);
      const double more = mine == waiter_.places.end() ? time * share : time - mine->second;
      if (more > kRounding * time) {
        delays_.emplace_back(place, more);
        whole += more;
      }
    }
    return whole;
  }

  AssayEvents events_;
  AssayWaits waits_;
  AssayMoments moments_;
  std::vector<double> handed_;
  std::vector<std::unordered_map<Place, Cost, PlaceHash>> costs_;
  Spent late_, waiter_;
  std::vector<std::pair<Place, double>> delays_;
  std::vector<Amount> waiting_;
};

}  // namespace

// Reports each cost, in no particular order; returns the s of waiting without an origin.
extern "C" double assay_origins(const AssayEvents* events, const AssayWaits* waits,
                                const AssayMoments* moments, AssayCost found) {
  Search search(*events, *waits, *moments);
  const double unknown = search.run();
  search.tell(found);
  return unknown;
}
