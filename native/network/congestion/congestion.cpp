// network.congestion: operations of the victims, on a half of the nodes, while the network is quiet
// and beside the aggressors' traffic on other nodes, in turns.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/stop_rule.hpp"
#include "network/congestion/aggressors.hpp"
#include "network/congestion/team.hpp"
#include "network/congestion/victims.hpp"
#include "network/messages.hpp"
#include "network/pair.hpp"
#include "network/ranks.hpp"
#include "network/rehearsal.hpp"

namespace assay::congestion {
namespace {

constexpr int kFewestNodes = 4;
constexpr std::int64_t kMostOperations = 1'000'000;
// Where the operations of a block are chosen here: seconds of the longer block, and bounds.
constexpr double kBlock = 0.1;
constexpr double kFewest = 10.0;
constexpr double kMost = 1000.0;
// Operations of each block that the choice is made from.
constexpr std::int64_t kTried = 3;
// No operation begins after this time of a block: seconds, and part of the measurement's.
constexpr double kLongestBlock = 20.0;
constexpr double kPartOfDeadline = 0.125;
// Levels of the reported quantiles; those that fewer than one operation exceeds are left out.
constexpr double kTailLevels[] = {0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999};
constexpr std::array<std::pair<double, const char*>, 2> kTails{{{0.99, "p99"}, {0.999, "p999"}}};

enum Phase : std::size_t { kQuiet, kLoaded };

// Operations expected beyond a quantile, from which its ratio and its time are given: with fewer
// the intervals of the ratio are too narrow for mixtures of fast and slow operations.
constexpr double kBeyond = 10.0;

bool supports(const std::vector<double>& sorted, double level, double beyond = 1.0) {
  return static_cast<double>(sorted.size()) * (1.0 - level) >= beyond - 1e-9;
}

// Median-unbiased for any distribution, nearly (Hyndman & Fan 1996, type 8): the results of
// launches are summarised by their median.
double quantile(const std::vector<double>& sorted, double level) {
  const double count = static_cast<double>(sorted.size());
  const double rank = std::clamp((count + 1.0 / 3.0) * level + 1.0 / 3.0, 1.0, count);
  const std::size_t below = static_cast<std::size_t>(rank);
  const double part = rank - static_cast<double>(below);
  return part == 0.0 ? sorted[below - 1] : (1.0 - part) * sorted[below - 1] + part * sorted[below];
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

class Congestion : public Kernel {
 public:
  Congestion(const Context& context, Parameters& parameters)
      : context_(context),
        parameters_(parameters),
        victim_(parameters.choice("victim", "allreduce", victim_names())) {
    nodes_ = 1 + *std::max_element(context.nodes.begin(), context.nodes.end());
    slices_ = context.size / nodes_;
    terms_.pattern = parameters.choice("aggressor", "incast", pattern_names());
    const double share = parameters.real("share", 1.0, 0.0, 1.0);
    const std::int64_t bytes = parameters.integer("bytes", -1, -1, kLargestMessage);
    bytes_ = static_cast<std::size_t>(bytes == -1 ? usual_bytes(victim_) : bytes);
    parameters.resolve("bytes", static_cast<std::int64_t>(bytes_));
    terms_.bytes =
        static_cast<std::size_t>(parameters.integer("load_bytes", 64 << 10, 1, kLargestMessage));
    terms_.duty = parameters.real("duty", 1.0, 0.05, 1.0);
    terms_.period = parameters.real("period", 0.01, 1e-4, 1.0);
    operations_ = parameters.integer("operations", 0, 0, kMostOperations);
    const std::int64_t draw = parameters.integer("draw", 1);
    fault_ = PlantedFault(parameters, {"byte", "guard", "load", "idle", "early"});
    if (nodes_ < kFewestNodes) {
      throw KernelError(
          "network.congestion needs at least 4 nodes: 2 with victims and 2 with "
          "aggressors");
    }
    if (victim_ == "allreduce" && bytes_ % sizeof(double) != 0) {
      throw KernelError("allreduce adds up doubles: 'bytes' must be a multiple of 8, not " +
                        std::to_string(bytes_));
    }
    division_ = divide(nodes_, share, static_cast<std::uint64_t>(draw));
    if (share > 0.0 && division_.aggressors.size() < 2) {
      throw KernelError(
          "parameter 'share' leaves fewer than two nodes with aggressors, and their "
          "traffic needs two");
    }
    seat_ = seat_of(division_, context.nodes, context.rank);
  }

  void setup() override {
    const double room = std::max(Victims::memory(victim_, bytes_, places(), slices_),
                                 Aggressors::memory(terms_, std::max(active(), 2)));
    require_memory(context_, kPartForBuffers, room, "buffers",
                   "give smaller numbers of 'bytes' and 'load_bytes'");
    if (is_victim()) victims_.emplace(victim_, bytes_, seat_, places(), slices_);
    if (is_aggressor()) aggressors_.emplace(terms_, seat_, active(), fault_);
    team_.emplace(context_.comm, seat_);
    prepare(0);
    const double longest = context_.deadline.longest();
    longest_block_ = std::min(kLongestBlock, kPartOfDeadline * longest);
    expected_ = rehearse(context_, bytes_, kFewest, [this](std::size_t part) {
      if (is_victim()) victims_->operate(*team_, part);
    });
    if (expected_ > longest) return;
    const double quiet = mean_of(block(kQuiet, kTried));
    const double loaded = mean_of(block(kLoaded, kTried));
    if (operations_ == 0) {
      operations_ = static_cast<std::int64_t>(
          std::clamp(std::ceil(kBlock / std::max(quiet, loaded)), kFewest, kMost));
      parameters_.resolve("operations", operations_);
    }
    expected_ = quiet + loaded;  // longer blocks are cut
    if (aggressors_) aggressors_->forget_load();
  }

  double expected_seconds() const override { return expected_; }
  std::int64_t max_batch() const override { return 1; }
  double operations_per_count() const override { return 2.0 * static_cast<double>(operations_); }

  // The order alternates, so that a drift of the network's speed affects both equally.
  void run(std::int64_t) override {
    const bool loaded_first = times_[kQuiet].size() % 2 == 1;
    for (const Phase phase :
         loaded_first ? std::array{kLoaded, kQuiet} : std::array{kQuiet, kLoaded}) {
      times_[phase].push_back(block(phase, operations_));
    }
  }

  // Checks what the last operations and rounds left, and then other contents once; and that every
  // loaded block had traffic from its beginning to its end.
  Verification verify() override {
    if (victims_ && fault_.is("byte")) victims_->contents().damage_byte();
    if (victims_ && fault_.is("guard")) victims_->contents().damage_guard();
    if (aggressors_ && fault_.is("load")) aggressors_->damage();
    std::int64_t wrong = wrong_bytes(0);
    prepare(1);
    block(kLoaded, 1);
    wrong += wrong_bytes(1);
    if (aggressors_) wrong += aggressors_->load().lapses;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    collect();
    return {wrong == 0, "bytes wrong or missing, and loaded blocks without traffic, on all ranks",
            static_cast<double>(wrong), 0.0};
  }

  std::vector<Series> series() const override {
    if (context_.rank != 0) return {};
    std::vector<Series> all;
    std::array<std::vector<double>, 2> medians;
    std::array<std::vector<double>, 2> sorted;
    for (const Phase phase : {kQuiet, kLoaded}) {
      for (const std::vector<double>& each : times_[phase]) {
        medians[phase].push_back(median(each));
        sorted[phase].insert(sorted[phase].end(), each.begin(), each.end());
      }
      std::sort(sorted[phase].begin(), sorted[phase].end());
    }
    const auto ratio = [](double one, double other) { return one / other; };
    std::vector<double> impacts(medians[kQuiet].size());
    std::transform(medians[kLoaded].begin(), medians[kLoaded].end(), medians[kQuiet].begin(),
                   impacts.begin(), ratio);
    all.push_back({"quiet", "s", {}, {}, medians[kQuiet]});
    all.push_back({"loaded", "s", {}, {}, medians[kLoaded]});
    all.push_back({"impact", "", {}, {}, impacts});
    const auto add = [&all](const std::string& name, double quiet, double loaded) {
      all.push_back({"quiet_" + name, "s", {}, {}, {quiet}});
      all.push_back({"loaded_" + name, "s", {}, {}, {loaded}});
      all.push_back({"impact_" + name, "", {}, {}, {loaded / quiet}});
    };
    add("mean", mean(sorted[kQuiet]), mean(sorted[kLoaded]));
    for (const auto& [level, name] : kTails) {
      if (!supports(sorted[kQuiet], level, kBeyond)) continue;
      if (!supports(sorted[kLoaded], level, kBeyond)) continue;
      add(name, quantile(sorted[kQuiet], level), quantile(sorted[kLoaded], level));
    }
    all.push_back({"quiet_quantiles", "s", {}, {}, tail_of(sorted[kQuiet])});
    all.push_back({"loaded_quantiles", "s", {}, {}, tail_of(sorted[kLoaded])});
    return all;
  }

  std::map<std::string, Value> facts() const override {
    const auto total = [&](Phase phase) {
      std::size_t count = 0;
      for (const std::vector<double>& each : times_[phase]) count += each.size();
      return static_cast<std::int64_t>(count);
    };
    return {{"victims", listed(division_.victims)},
            {"aggressors", listed(division_.aggressors)},
            {"operations_quiet", total(kQuiet)},
            {"operations_loaded", total(kLoaded)},
            {"load", load_},
            {"sending", sending_},
            {"rounds", rounds_}};
  }

 private:
  bool is_victim() const { return seat_.role == Role::kVictim; }
  bool is_aggressor() const { return seat_.role == Role::kAggressor; }
  int places() const { return static_cast<int>(division_.victims.size()); }
  int active() const { return static_cast<int>(division_.aggressors.size()); }

  void prepare(std::size_t round) {
    if (victims_) victims_->contents().prepare(round);
    if (aggressors_) aggressors_->prepare(round);
  }

  std::int64_t wrong_bytes(std::size_t round) const {
    if (victims_) return victims_->contents().wrong_bytes(round);
    return aggressors_ ? aggressors_->wrong_bytes(round) : 0;
  }

  // One block of `count` operations; the seconds of each that this rank measures. Without active
  // aggressors both phases are quiet.
  std::vector<double> block(Phase phase, std::int64_t count) {
    const bool loaded = phase == kLoaded && active() > 0;
    if (loaded && is_aggressor()) {
      aggressors_->run(*team_, context_.comm);
      return {};
    }
    std::vector<double> times;
    const auto meet_others = [&] {
      loaded ? meet_load(context_.comm) : check_mpi(MPI_Barrier(context_.comm));
    };
    meet_others();
    if (is_victim()) times = victims_->block(*team_, count, longest_block_);
    meet_others();
    return times;
  }

  // Of the slowest rank, on all ranks.
  double mean_of(const std::vector<double>& times) const {
    double sum = 0.0;
    for (const double time : times) sum += time;
    double mean = times.empty() ? 0.0 : sum / static_cast<double>(times.size());
    MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_MAX, context_.comm);
    return mean;
  }

  // On rank 0: the times that count of each block, and the aggressors' sums.
  void collect() {
    int speaker = is_victim() && seat_.place == 0 && seat_.slice == 0 ? context_.rank : 0;
    MPI_Allreduce(MPI_IN_PLACE, &speaker, 1, MPI_INT, MPI_MAX, context_.comm);
    for (std::vector<std::vector<double>>& blocks : times_) {
      for (std::vector<double>& times : blocks) {
        if (is_victim()) times = victims_->that_count(*team_, times);
        hand_over(times, speaker);
      }
    }
    const Load mine = aggressors_ ? aggressors_->load() : Load{};
    double sums[] = {mine.bytes, mine.seconds, mine.pauses, static_cast<double>(mine.rounds)};
    MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_DOUBLE, MPI_SUM, context_.comm);
    if (active() == 0) return;
    const double ranks = static_cast<double>(active() * slices_);
    load_ = ranks * sums[0] / sums[1];
    sending_ = 1.0 - sums[2] / sums[1];
    rounds_ = std::llround(sums[3] / ranks);
  }

  // From the speaker to rank 0.
  void hand_over(std::vector<double>& times, int speaker) const {
    if (speaker == 0) return;
    if (context_.rank == speaker) {
      check_mpi(MPI_Send(times.data(), static_cast<int>(times.size()), MPI_DOUBLE, 0, kMeeting,
                         context_.comm));
    } else if (context_.rank == 0) {
      MPI_Status status;
      int count = 0;
      check_mpi(MPI_Probe(speaker, kMeeting, context_.comm, &status));
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      times.resize(static_cast<std::size_t>(count));
      check_mpi(MPI_Recv(times.data(), count, MPI_DOUBLE, speaker, kMeeting, context_.comm,
                         MPI_STATUS_IGNORE));
    }
  }

  static std::vector<double> tail_of(const std::vector<double>& sorted) {
    std::vector<double> values;
    for (const double level : kTailLevels) {
      if (supports(sorted, level)) values.push_back(quantile(sorted, level));
    }
    return values;
  }

  static std::string listed(const std::vector<int>& nodes) {
    std::string text;
    for (const int node : nodes) text += (text.empty() ? "" : " ") + std::to_string(node);
    return text;
  }

  Context context_;
  Parameters& parameters_;
  std::string victim_;
  std::size_t bytes_ = 0;
  LoadTerms terms_;
  std::int64_t operations_ = 0;
  PlantedFault fault_;
  int nodes_ = 0;
  int slices_ = 0;
  Division division_;
  Seat seat_;
  std::optional<Victims> victims_;
  std::optional<Aggressors> aggressors_;
  std::optional<Team> team_;
  double longest_block_ = kLongestBlock;
  double expected_ = 0.0;  // seconds of the shortest measurement, 0 if unknown
  // Of each phase and block: this rank's times, and after verify() on rank 0 those that count.
  std::array<std::vector<std::vector<double>>, 2> times_;
  double load_ = 0.0;     // B/s that all aggressors received
  double sending_ = 0.0;  // part of the loaded blocks in which a rank had messages in flight
  std::int64_t rounds_ = 0;
};

ASSAY_KERNEL("network.congestion", Congestion);

}  // namespace
}  // namespace assay::congestion
