// network.pairs: a ping-pong between every pair of nodes, or of ranks, as a matrix.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/stop_rule.hpp"
#include "network/payload.hpp"
#include "network/ranks.hpp"
#include "network/tournament.hpp"

namespace assay {
namespace {

constexpr int kTag = 1;
constexpr int kTripsTag = 2;
// The part of the time after which no further pair is visited before the passes: the first pass
// takes about as long as these visits.
constexpr double kPartBefore = 0.5;
// Seconds that the trips of a visit should last together, so that two readings of the clock take
// less than 1% of them; and the maximum number of trips.
constexpr double kVisit = 10e-6;
constexpr int kMostTrips = 1000;
constexpr std::uint64_t kOrderSeed = 1;  // of the members, and the next one of the rounds
constexpr double kNoEnd = std::numeric_limits<double>::infinity();

class Pairs : public Kernel {
 public:
  Pairs(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    if (context.size < 2) throw KernelError("network.pairs needs at least 2 ranks");
    bytes_ = payload_bytes(parameters, 8);
    between_ = parameters.choice("between", "auto", {"auto", "nodes", "ranks"});
    concurrent_ = parameters.choice("concurrent", "no", {"no", "yes"}) == "yes";
    fixed_trips_ = parameters.integer("trips", 0, 0, kMostTrips);
    most_ = parameters.integer("most", kMostSeries, 1, kMostSeries);
    fault_ = PlantedFault(parameters, {"byte", "short"});
  }

  // Also determines the number of trips that each pair needs, in a pass that opens all connections.
  // Pairs that this pass doesn't reach in time are not measured.
  void setup() override {
    payload_.allocate(context_, bytes_);
    const std::vector<int>& nodes = context_.nodes;
    const int last_node = *std::max_element(nodes.begin(), nodes.end());
    if (between_ == "auto") between_ = last_node > 0 ? "nodes" : "ranks";
    if (between_ == "nodes" && last_node == 0) {
      throw KernelError("pairs of nodes need at least 2 nodes; there is one");
    }
    parameters_.resolve("between", between_);
    std::vector<int> members = all_ranks(context_.size);
    if (between_ == "nodes") {
      members.clear();
      for (int node = 0; node <= last_node; ++node) {
        members.push_back(
            static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin()));
      }
    }
    schedule(members);
    payload_.fill(key_of(context_.rank, 0));
    keep(each_visit(concurrent_, [&](Visit& visit) { find_trips(visit); }, kPartBefore));
  }

  void run(std::int64_t count) override {
    for (std::int64_t pass = 0; pass < count; ++pass) {
      each_visit(concurrent_, [&](Visit& visit) {
        const double time = timed_visit(visit, visit.trips);
        if (visit.leads) visit.times.push_back(time);
      });
    }
  }

  // Checks every byte that the last timed visit of each rank left, and then every byte of one more
  // trip between each pair, both ways, with different messages.
  Verification verify() override {
    std::int64_t wrong = 0;
    if (!visits_.empty()) {
      if (fault_.is("byte") && visits_.back().leads) payload_.incoming()[bytes_ / 2] ^= 1;
      wrong += payload_.wrong(key_of(visits_.back().peer, 0));
    }
    each_visit(true, [&](Visit& visit) { wrong += checked_trip(visit); });
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, over all pairs and both ways",
            static_cast<double>(wrong), 0.0};
  }

  // A sample is one pass over all pairs, however long it takes.
  std::int64_t max_batch() const override { return 1; }

  // For each pass the median and the slowest pair; for each pair the median over the passes.
  std::vector<Series> series() const override {
    std::vector<Series> all = passes();
    for (const Visit& visit : visits_) {
      if (!visit.leads) continue;
      const auto [low, high] = std::minmax(context_.rank, visit.peer);
      all.push_back({"pair", "s", low, high, {rounded(median(visit.times))}});
    }
    return all;
  }

  std::map<std::string, Value> facts() const override {
    const auto members = static_cast<std::int64_t>(members_);
    return {{"members", members},
            {"pairs", static_cast<std::int64_t>(pairs_)},
            {"pairs_in_all", members * (members - 1) / 2},
            {"rounds", static_cast<std::int64_t>(sizes_.size())},
            {"rounds_in_all", static_cast<std::int64_t>(rounds_in_all_)},
            {"order_seed", static_cast<std::int64_t>(kOrderSeed)}};
  }

 private:
  // This rank's exchange with one partner; `leads`: it sends first and measures the time.
  struct Visit {
    std::size_t round = 0;
    std::size_t place = 0;  // of the pair in its round
    int peer = 0;
    bool leads = false;
    int trips = 1;
    std::vector<double> times;  // seconds one way, one per pass
  };

  // The key of a rank's messages: timed messages, and those of each round of the check.
  std::uint64_t key_of(int rank, std::size_t message) const {
    return static_cast<std::uint64_t>(rank) + message * static_cast<std::size_t>(context_.size);
  }

  // Members meet in a random order, the same in every launch.
  void schedule(const std::vector<int>& members) {
    const std::vector<int> places = shuffled(members, kOrderSeed);
    rounds_in_all_ = rounds_of(members.size());
    std::vector<int> order = round_order(rounds_in_all_, kOrderSeed + 1, context_.seed);
    const std::size_t fitting = static_cast<std::size_t>(most_) / (members.size() / 2);
    if (order.size() > fitting) order.resize(std::max<std::size_t>(fitting, 1));
    members_ = members.size();
    for (std::size_t r = 0; r < order.size(); ++r) {
      const Round round = tournament_round(places, static_cast<std::size_t>(order[r]));
      sizes_.push_back(round.size());
      pairs_ += round.size();
      for (std::size_t place = 0; place < round.size(); ++place) {
        const auto [one, other] = round[place];
        if (context_.rank == one) visits_.push_back({r, place, other, true, 1, {}});
        if (context_.rank == other) visits_.push_back({r, place, one, false, 1, {}});
      }
    }
  }

  // Executes the action for each pair of this rank: a whole round together, or one pair after the
  // other while all others wait in a barrier. Stops after the first step that ends when that part
  // of the measurement's time is over; returns the number of completed steps (rounds or pairs).
  template <typename Action>
  std::size_t each_visit(bool together, Action action, double part = kNoEnd) {
    auto mine = visits_.begin();
    const std::size_t steps = together ? sizes_.size() : pairs_;
    std::size_t done = 0;
    for (std::size_t round = 0; round < sizes_.size(); ++round) {
      const std::size_t turns = together ? 1 : sizes_[round];
      for (std::size_t turn = 0; turn < turns; ++turn, ++done) {
        if (context_.progress) {
          context_.progress(static_cast<double>(done) / static_cast<double>(steps), {});
        }
        if (!goes_on(done > 0 ? part : kNoEnd)) return done;
        if (mine == visits_.end() || mine->round != round) continue;
        if (!together && mine->place != turn) continue;
        action(*mine);
        ++mine;
      }
    }
    return done;
  }

  // Waits for all ranks; returns whether that part of the measurement's time is left.
  bool goes_on(double part) const {
    const Deadline& deadline = context_.deadline;
    if (part < kNoEnd && deadline.exists()) return deadline.allows(context_.comm, 0.0, part);
    MPI_Barrier(context_.comm);
    return true;
  }

  // Drops all but the first steps (rounds, or pairs), and of these a round that is not whole,
  // unless it is the only one: every member then has equally many pairs.
  void keep(std::size_t steps) {
    std::size_t rounds = 0;
    std::size_t pairs = 0;
    for (; rounds < sizes_.size(); ++rounds) {
      const std::size_t needs = concurrent_ ? rounds + 1 : pairs + sizes_[rounds];
      if (needs > steps) break;
      pairs += sizes_[rounds];
    }
    if (rounds == 0) {
      rounds = 1;
      pairs = sizes_[0] = steps;
    }
    sizes_.resize(rounds);
    pairs_ = pairs;
    visits_.erase(std::remove_if(visits_.begin(), visits_.end(),
                                 [this](const Visit& visit) {
                                   return visit.round >= sizes_.size() ||
                                          visit.place >= sizes_[visit.round];
                                 }),
                  visits_.end());
  }

  // Seconds one way. The untimed first trip waits for a late partner.
  double timed_visit(const Visit& visit, int trips) {
    int failed = trip(visit, payload_.count(), nullptr);
    const Ticks start = ticks();
    for (int k = 0; k < trips; ++k) failed |= trip(visit, payload_.count(), nullptr);
    const Ticks took = ticks() - start;
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed to send or to receive a message");
    return seconds(took) / (2.0 * trips);
  }

  int trip(const Visit& visit, int sent, MPI_Status* status) {
    MPI_Status* const kept = status ? status : MPI_STATUS_IGNORE;
    int failed = MPI_SUCCESS;
    const auto send = [&] {
      failed |= MPI_Send(payload_.outgoing(), sent, MPI_BYTE, visit.peer, kTag, context_.comm);
    };
    if (visit.leads) send();
    failed |= MPI_Recv(payload_.incoming(), payload_.count(), MPI_BYTE, visit.peer, kTag,
                       context_.comm, kept);
    if (!visit.leads) send();
    return failed;
  }

  // For a slow pair one trip is enough; for a fast pair, a single trip may have been interrupted.
  void find_trips(Visit& visit) {
    constexpr int kProbes = 3;
    double one_way = timed_visit(visit, 1);
    visit.trips = static_cast<int>(fixed_trips_);
    if (visit.trips > 0) return;
    int slow = 2.0 * one_way >= kVisit ? 1 : 0;
    agree_with_peer(visit, slow);
    if (slow == 0) one_way = timed_visit(visit, kProbes);
    visit.trips = static_cast<int>(
        std::clamp(std::ceil(kVisit / std::max(2.0 * one_way, 1e-9)), 1.0, double{kMostTrips}));
    agree_with_peer(visit, visit.trips);
  }

  // The number of the rank that leads, on both.
  void agree_with_peer(const Visit& visit, int& number) const {
    if (visit.leads) {
      MPI_Send(&number, 1, MPI_INT, visit.peer, kTripsTag, context_.comm);
    } else {
      MPI_Recv(&number, 1, MPI_INT, visit.peer, kTripsTag, context_.comm, MPI_STATUS_IGNORE);
    }
  }

  std::int64_t checked_trip(const Visit& visit) {
    const std::size_t message = 1 + visit.round;
    payload_.fill(key_of(context_.rank, message));
    payload_.spoil(key_of(visit.peer, message));
    MPI_Status status;
    if (trip(visit, sent_bytes(visit), &status) != MPI_SUCCESS) {
      throw KernelError("MPI failed to send or to receive a message");
    }
    const std::int64_t missing = arrived_whole(status, payload_.count()) ? 0 : 1;
    return payload_.wrong(key_of(visit.peer, message)) + missing;
  }

  int sent_bytes(const Visit& visit) const {
    if (fault_.is("short") && bytes_ > 0 && visit.round == 0 && visit.place == 0 && !visit.leads) {
      return payload_.count() - 1;
    }
    return payload_.count();
  }

  // One value per pass, on rank 0. Collective.
  std::vector<Series> passes() const {
    std::vector<double> mine;
    std::size_t samples = 0;
    int led = 0;
    for (const Visit& visit : visits_) {
      led += visit.leads ? 1 : 0;
      samples = std::max(samples, visit.times.size());
    }
    std::uint64_t count = samples;
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_UINT64_T, MPI_MAX, context_.comm);
    const bool root = context_.rank == 0;
    std::vector<int> counts(root ? static_cast<std::size_t>(context_.size) : 0);
    MPI_Gather(&led, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, context_.comm);
    std::vector<int> places(counts.size(), 0);
    for (std::size_t i = 1; i < counts.size(); ++i) places[i] = places[i - 1] + counts[i - 1];
    std::vector<double> all(root ? pairs_ : 0);
    Series typical{"median_pair", "s", {}, {}, {}};
    Series slowest{"slowest_pair", "s", {}, {}, {}};
    for (std::size_t pass = 0; pass < count; ++pass) {
      mine.clear();
      for (const Visit& visit : visits_) {
        if (visit.leads) mine.push_back(visit.times[pass]);
      }
      MPI_Gatherv(mine.data(), led, MPI_DOUBLE, all.data(), counts.data(), places.data(),
                  MPI_DOUBLE, 0, context_.comm);
      if (!root) continue;
      typical.values.push_back(rounded(median(all)));
      slowest.values.push_back(rounded(*std::max_element(all.begin(), all.end())));
    }
    if (!root) return {};
    return {typical, slowest};
  }

  Context context_;
  Parameters& parameters_;
  std::size_t bytes_ = 0;
  std::string between_;
  bool concurrent_ = false;
  std::int64_t fixed_trips_ = 0;
  std::int64_t most_ = 0;
  Payload payload_;
  std::size_t members_ = 0;
  std::size_t pairs_ = 0;
  std::size_t rounds_in_all_ = 0;
  std::vector<std::size_t> sizes_;  // pairs of each round
  std::vector<Visit> visits_;       // of this rank, in the order of rounds
  PlantedFault fault_;
};

ASSAY_KERNEL("network.pairs", Pairs);

}  // namespace
}  // namespace assay
