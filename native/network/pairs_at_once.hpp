// Base class of network.multi_pingpong and network.concurrent: pairs that exchange messages
// concurrently.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "harness/kernel.hpp"
#include "network/conversation.hpp"
#include "network/exchange.hpp"
#include "network/pair.hpp"
#include "network/rehearsal.hpp"

namespace assay {

// All pairs make the same number of trips by MPI_Send and MPI_Recv, and start together.
class PairsAtOnce : public Kernel {
 public:
  // Several trips per count: ranks leave a barrier within microseconds of each other, which must be
  // a small part of a sample; otherwise pairs would communicate one after the other.
  static std::int64_t trips_of(std::size_t bytes) {
    constexpr std::int64_t kBytes = 256 << 10;
    return std::clamp<std::int64_t>(
        kBytes / static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)), 2, 32);
  }

  // A barrier of all ranks; then each pair synchronises, so that no partner is late.
  void before_sample() override {
    check_mpi(MPI_Barrier(context_.comm));
    if (conversation_->pair().takes_part()) check_mpi(meet(conversation_->pair()));
  }

  double expected_seconds() const override { return expected_; }

  void run(std::int64_t count) override { check_mpi(conversation_->run(count * trips_)); }

  Verification verify() override {
    std::int64_t wrong = conversation_->wrong_bytes();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, of all pairs", static_cast<double>(wrong), 0.0};
  }

  Start start() const override { return Start::kFree; }  // before_sample() synchronises
  bool times_here() const override { return conversation_->pair().first; }
  bool keeps_fastest() const override { return true; }

 protected:
  explicit PairsAtOnce(const Context& context) : context_(context) {}

  // Allocates for messages of `bytes` to the partner and `back` from it.
  void begin(const Pair& pair, std::size_t bytes, std::size_t back, PlantedFault fault) {
    trips_ = trips_of(bytes);
    conversation_.emplace(context_, pair,
                          Conversation::Terms{Mode::kBlocking, bytes, back, 1, fault});
    conversation_->begin(
        [](const Parties& parties) { return make_round_trips(Mode::kBlocking, parties); });
    expected_ = rehearse(context_, bytes, static_cast<double>(trips_) + kTripsOfCheck,
                         [this](std::size_t part) { check_mpi(conversation_->try_out(part)); });
  }

  Context context_;
  std::int64_t trips_ = 1;

 private:
  // Of messages of all powers of two up to the size, twice the size together.
  static constexpr double kTripsOfCheck = 2.0;

  double expected_ = 0.0;  // seconds of a sample and the check, 0 if unknown
  std::optional<Conversation> conversation_;
};

}  // namespace assay
