// network.bisection: each rank of one half exchanges with one of the other, all at the same time.
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/stop_rule.hpp"
#include "network/payload.hpp"
#include "network/ranks.hpp"
#include "network/rehearsal.hpp"

namespace assay {
namespace {

constexpr int kHalvesTag = 1;
// Exchanges of the shortest measurement: the one that opens the connections, a sample, the check.
constexpr double kShortest = 3.0;

class Bisection : public Kernel {
 public:
  Bisection(const Context& context, Parameters& parameters) : context_(context) {
    if (context.size % 2 != 0) {
      throw KernelError("a bisection needs an even number of ranks, not " +
                        std::to_string(context.size));
    }
    bytes_ = payload_bytes(parameters, 1 << 20);
    cut_ = parameters.choice("cut", "worst", {"worst", "best", "random", "given"});
    draw_ = parameters.integer("draw", 1);
    const std::string half = parameters.text("half", "auto");
    if ((cut_ == "given") != (half != "auto")) {
      throw KernelError(
          "parameter 'half' lists the ranks of one side of cut 'given', and of no "
          "other");
    }
    const std::int64_t sides = context.size / 2;
    if (cut_ == "given") half_ = read_ranks("half", half, context.size);
    if (cut_ == "given" && half_.size() != static_cast<std::size_t>(sides)) {
      throw KernelError("parameter 'half' names " + std::to_string(half_.size()) +
                        " ranks, but half of them are " + std::to_string(sides));
    }
    const std::int64_t pairs = parameters.integer("pairs", 0, 0, sides);
    pairs_ = pairs == 0 ? sides : pairs;
    parameters.resolve("pairs", pairs_);
    fault_ = PlantedFault(parameters, {"byte", "short"});
  }

  void setup() override {
    payload_.allocate(context_, bytes_);
    const std::vector<int> sides = both_sides(context_.nodes);
    const std::size_t half = sides.size() / 2;
    const auto found = std::find(sides.begin(), sides.end(), context_.rank);
    const auto here = static_cast<std::size_t>(found - sides.begin());
    first_side_ = here < half;
    partner_ = sides[(here + half) % sides.size()];
    active_ = static_cast<std::int64_t>(here % half) < pairs_;
    expected_ = rehearse(context_, payload_.bytes(), kShortest, [this](std::size_t part) {
      if (active_) exchange(static_cast<int>(part), nullptr);
    });
    if (expected_ > context_.deadline.longest()) return;
    payload_.fill(key_of(context_.rank, 0));
    if (active_) exchange(payload_.count(), nullptr);  // opens the connection
  }

  double expected_seconds() const override { return expected_; }

  void run(std::int64_t count) override {
    if (!active_) return;
    const Ticks start = ticks();
    for (std::int64_t k = 0; k < count; ++k) exchange(payload_.count(), nullptr);
    const double time = seconds(ticks() - start) / static_cast<double>(count);
    if (count != batch_) times_.clear();  // samples of the batch calibration
    batch_ = count;
    times_.push_back(time);
  }

  // Checks every byte that the last timed exchange left on both sides, and of one more exchange
  // with different messages.
  Verification verify() override {
    std::int64_t wrong = 0;
    if (active_) {
      if (fault_.is("byte") && !first_side_) payload_.incoming()[bytes_ / 2] ^= 1;
      wrong += payload_.wrong(key_of(partner_, 0));
      payload_.fill(key_of(context_.rank, 1));
      payload_.spoil(key_of(partner_, 1));
      int sent = payload_.count();
      if (fault_.is("short") && bytes_ > 0 && !first_side_) --sent;
      MPI_Status status;
      exchange(sent, &status);
      wrong += payload_.wrong(key_of(partner_, 1));
      wrong += arrived_whole(status, payload_.count()) ? 0 : 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, over all pairs and both ways",
            static_cast<double>(wrong), 0.0};
  }

  bool times_here() const override { return active_; }
  bool keeps_fastest() const override { return true; }

  // Each pair's median time, measured on its first side.
  std::vector<Series> series() const override {
    const bool reported = context_.rank < static_cast<int>(kMostSeries);
    if (!active_ || !first_side_ || !reported || times_.empty()) return {};
    return {{"exchange", "s", context_.rank, partner_, {rounded(median(times_))}}};
  }

 private:
  std::uint64_t key_of(int rank, int message) const {
    return static_cast<std::uint64_t>(rank) +
           static_cast<std::uint64_t>(message) * static_cast<std::uint64_t>(context_.size);
  }

  // The ranks of one side and then of the other; the k-th of one exchanges with the k-th of the
  // other.
  std::vector<int> both_sides(const std::vector<int>& nodes) const {
    std::vector<int> ranks = all_ranks(context_.size);
    if (cut_ == "random") return shuffled(ranks, static_cast<std::uint64_t>(draw_));
    if (cut_ == "given") {
      std::vector<int> sides = half_;
      for (const int rank : ranks) {
        if (std::find(half_.begin(), half_.end(), rank) == half_.end()) sides.push_back(rank);
      }
      return sides;
    }
    std::stable_sort(ranks.begin(), ranks.end(), [&](int one, int other) {
      return nodes[static_cast<std::size_t>(one)] < nodes[static_cast<std::size_t>(other)];
    });
    // Worst: the first half of the nodes with the second, so that all messages cross the bisection.
    if (cut_ == "worst") return ranks;
    // Best: neighbours, within a node if it has enough ranks.
    std::vector<int> sides;
    for (std::size_t side = 0; side < 2; ++side) {
      for (std::size_t k = side; k < ranks.size(); k += 2) sides.push_back(ranks[k]);
    }
    return sides;
  }

  void exchange(int sent, MPI_Status* status) const {
    const int failed = MPI_Sendrecv(payload_.outgoing(), sent, MPI_BYTE, partner_, kHalvesTag,
                                    payload_.incoming(), payload_.count(), MPI_BYTE, partner_,
                                    kHalvesTag, context_.comm, status ? status : MPI_STATUS_IGNORE);
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed to send or to receive a message");
  }

  Context context_;
  std::size_t bytes_ = 0;
  std::string cut_;
  std::int64_t draw_ = 1;
  std::vector<int> half_;
  std::int64_t pairs_ = 0;
  bool first_side_ = false;
  bool active_ = false;
  int partner_ = 0;
  Payload payload_;
  double expected_ = 0.0;  // seconds of the shortest measurement, 0 if unknown
  std::int64_t batch_ = 0;
  std::vector<double> times_;  // seconds of an exchange, one per sample
  PlantedFault fault_;
};

ASSAY_KERNEL("network.bisection", Bisection);

}  // namespace
}  // namespace assay
