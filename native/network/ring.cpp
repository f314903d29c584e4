// network.ring: a message from each rank to the next around a ring: as a token, or all
// concurrently.
#include <mpi.h>

#include <algorithm>
#include <cmath>
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

constexpr int kLapTag = 1;
constexpr int kHopTag = 2;
constexpr int kDoneTag = 3;
// Seconds that the round trips of a hop should last together, and their maximum number.
constexpr double kHop = 10e-6;
constexpr int kMostRoundTrips = 100;
// Length of the shortest measurement in rounds: hops before and during the sample (two round trips
// each for a token), the sample, and the check.
constexpr double kShortestToken = 10.0;
constexpr double kShortestTogether = 4.0;

class Ring : public Kernel {
 public:
  Ring(const Context& context, Parameters& parameters) : context_(context) {
    if (context.size < 2) throw KernelError("a ring needs at least 2 ranks");
    bytes_ = payload_bytes(parameters, 127'000);
    token_ = parameters.choice("mode", "token", {"token", "together"}) == "token";
    const std::string route = parameters.choice("route", "natural", {"natural", "random", "given"});
    const std::int64_t draw = parameters.integer("draw", 1);
    const std::string sequence = parameters.text("sequence", "auto");
    if ((route == "given") != (sequence != "auto")) {
      throw KernelError("parameter 'sequence' lists the ranks of route 'given', and of no other");
    }
    if (route == "given") {
      route_ = read_ranks("sequence", sequence, context.size);
    } else {
      route_ = all_ranks(context.size);
      if (route == "random") route_ = shuffled(route_, static_cast<std::uint64_t>(draw));
    }
    if (route_.size() != static_cast<std::size_t>(context.size)) {
      throw KernelError("parameter 'sequence' names " + std::to_string(route_.size()) + " of " +
                        std::to_string(context.size) + " ranks; a ring goes through all of them");
    }
    const auto here = std::find(route_.begin(), route_.end(), context.rank);
    position_ = static_cast<std::size_t>(here - route_.begin());
    next_ = route_[(position_ + 1) % route_.size()];
    previous_ = route_[(position_ + route_.size() - 1) % route_.size()];
    fault_ = PlantedFault(parameters, {"byte", "short"});
  }

  // Also opens all connections, and determines how many round trips a hop needs.
  void setup() override {
    payload_.allocate(context_, bytes_);
    expected_ = rehearse(context_, payload_.bytes(), token_ ? kShortestToken : kShortestTogether,
                         [this](std::size_t part) {
                           const int sent = static_cast<int>(part);
                           check(token_ ? pass_token(sent, nullptr) : step(sent, nullptr));
                         });
    if (expected_ > context_.deadline.longest()) return;
    payload_.fill(key_of(context_.rank, 0));
    time_hops();
    const double mine = std::max(hops_[0], 1e-9);
    double fastest = 0.0;
    MPI_Allreduce(&mine, &fastest, 1, MPI_DOUBLE, MPI_MIN, context_.comm);
    trips_ = static_cast<int>(
        std::clamp(std::ceil(kHop / (2.0 * fastest)), 1.0, double{kMostRoundTrips}));
    hops_.clear();
  }

  double expected_seconds() const override { return expected_; }

  // Times each hop separately, between the rounds that the harness times.
  void before_sample() override { time_hops(); }

  void run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    for (std::int64_t k = 0; k < count; ++k) {
      failed |= token_ ? pass_token(payload_.count(), nullptr) : step(payload_.count(), nullptr);
    }
    check(failed);
  }

  // Checks every byte that the last timed message left at each rank, and then every byte of one
  // more round with a different message.
  Verification verify() override {
    if (fault_.is("byte") && is_last()) payload_.incoming()[bytes_ / 2] ^= 1;
    std::int64_t wrong = payload_.wrong(key_of(sender(), 0));
    payload_.fill(key_of(context_.rank, 1));
    payload_.spoil(key_of(sender(), 1));
    MPI_Status status;
    int sent = payload_.count();
    if (fault_.is("short") && bytes_ > 0 && is_last()) --sent;
    check(token_ ? pass_token(sent, &status) : step(sent, &status));
    wrong += payload_.wrong(key_of(sender(), 1));
    wrong += arrived_whole(status, payload_.count()) ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, over all ranks", static_cast<double>(wrong), 0.0};
  }

  // A token returns to its first rank; with concurrent messages the slowest rank counts.
  bool times_here() const override { return !token_ || position_ == 0; }

  // Each hop's median, from the rank that measures it: the sender for a token, else the receiver.
  std::vector<Series> series() const override {
    const bool reported = position_ < kMostSeries;
    if (!reported || hops_.empty()) return {};
    const int from = token_ ? context_.rank : previous_;
    const int to = token_ ? next_ : context_.rank;
    return {{"hop", "s", from, to, {rounded(median(hops_))}}};
  }

  std::map<std::string, Value> facts() const override {
    return {{"hops", static_cast<std::int64_t>(route_.size())}, {"hop_trips", trips_}};
  }

 private:
  std::uint64_t key_of(int rank, int message) const {
    return static_cast<std::uint64_t>(rank) +
           static_cast<std::uint64_t>(message) * static_cast<std::uint64_t>(context_.size);
  }

  static void check(int failed) {
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed to send or to receive a message");
  }

  // The rank whose message this rank holds after a round.
  int sender() const { return token_ ? route_[0] : previous_; }
  bool is_last() const { return position_ + 1 == route_.size(); }

  int receive(int from, int tag, MPI_Status* status) const {
    return MPI_Recv(payload_.incoming(), payload_.count(), MPI_BYTE, from, tag, context_.comm,
                    status ? status : MPI_STATUS_IGNORE);
  }

  // The received bytes are sent on, so that damage at any hop shows from there to the end.
  int pass_token(int sent, MPI_Status* status) const {
    int failed = MPI_SUCCESS;
    if (position_ != 0) failed |= receive(previous_, kLapTag, status);
    const unsigned char* from = position_ == 0 ? payload_.outgoing() : payload_.incoming();
    failed |= MPI_Send(from, sent, MPI_BYTE, next_, kLapTag, context_.comm);
    if (position_ == 0) failed |= receive(previous_, kLapTag, status);
    return failed;
  }

  int step(int sent, MPI_Status* status) const {
    return MPI_Sendrecv(payload_.outgoing(), sent, MPI_BYTE, next_, kLapTag, payload_.incoming(),
                        payload_.count(), MPI_BYTE, previous_, kLapTag, context_.comm,
                        status ? status : MPI_STATUS_IGNORE);
  }

  void time_hops() {
    if (token_) {
      hops_in_turn();
    } else {
      hops_together();
    }
  }

  // No two clocks are compared: a hop is half of a round trip to the next rank, by the sender's
  // clock. One hop after the other, in the token's order, without concurrent traffic.
  void hops_in_turn() {
    MPI_Barrier(context_.comm);
    if (position_ != 0) answer(previous_);
    hops_.push_back(ask(next_));
    if (position_ == 0) answer(previous_);
  }

  // Seconds one way. The first trip waits for a late partner and isn't timed.
  double ask(int peer) const {
    int failed = ask_once(peer);
    const Ticks start = ticks();
    for (int k = 0; k < trips_; ++k) failed |= ask_once(peer);
    const Ticks took = ticks() - start;
    // The partner continues only after this message, so that no two hops overlap.
    failed |= MPI_Send(nullptr, 0, MPI_BYTE, peer, kDoneTag, context_.comm);
    check(failed);
    return seconds(took) / (2.0 * trips_);
  }

  int ask_once(int peer) const {
    return MPI_Send(payload_.outgoing(), payload_.count(), MPI_BYTE, peer, kHopTag, context_.comm) |
           receive(peer, kHopTag, nullptr);
  }

  void answer(int peer) const {
    int failed = MPI_SUCCESS;
    for (int k = 0; k < trips_ + 1; ++k) {
      failed |= receive(peer, kHopTag, nullptr);
      failed |=
          MPI_Send(payload_.outgoing(), payload_.count(), MPI_BYTE, peer, kHopTag, context_.comm);
    }
    failed |= MPI_Recv(nullptr, 0, MPI_BYTE, peer, kDoneTag, context_.comm, MPI_STATUS_IGNORE);
    check(failed);
  }

  // After a barrier all send concurrently; a hop lasts from the receiver's own start to the arrival
  // of the message, by the receiver's clock. One step only: in successive steps all ranks would
  // wait for the slowest.
  void hops_together() {
    MPI_Barrier(context_.comm);
    MPI_Request request = MPI_REQUEST_NULL;
    const Ticks start = ticks();
    int failed = MPI_Isend(payload_.outgoing(), payload_.count(), MPI_BYTE, next_, kHopTag,
                           context_.comm, &request);
    failed |= receive(previous_, kHopTag, nullptr);
    hops_.push_back(seconds(ticks() - start));
    failed |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(failed);
  }

  Context context_;
  std::size_t bytes_ = 0;
  bool token_ = true;
  std::vector<int> route_;
  std::size_t position_ = 0;  // of this rank, in the route
  int next_ = 0;
  int previous_ = 0;
  int trips_ = 1;
  double expected_ = 0.0;  // seconds of the shortest measurement, 0 if unknown
  Payload payload_;
  std::vector<double> hops_;  // seconds of the hop that this rank times, one per sample
  PlantedFault fault_;
};

ASSAY_KERNEL("network.ring", Ring);

}  // namespace
}  // namespace assay
