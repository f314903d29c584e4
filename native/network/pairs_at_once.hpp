// Pairs that exchange messages at the same time: what network.multi_pingpong and network.concurrent
// share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "harness/kernel.hpp"
#include "network/conversation.hpp"
#include "network/exchange.hpp"
#include "network/pair.hpp"

namespace assay {

// All pairs make the same number of trips by MPI_Send and MPI_Recv, and start together.
class PairsAtOnce : public Kernel {
 public:
  // Several trips a count: ranks leave a barrier within microseconds of each other, which must be
  // little of a sample, or else pairs would be measured that communicate one after the other.
  static std::int64_t trips_of(std::size_t bytes) {
    constexpr std::int64_t kBytes = 256 << 10;
    return std::clamp<std::int64_t>(
        kBytes / static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)), 2, 32);
  }

  // A barrier of all ranks; then each pair meets, so that no partner is late.
  void before_sample() override {
    check_mpi(MPI_Barrier(context_.comm));
    if (conversation_->pair().takes_part()) check_mpi(meet(conversation_->pair()));
  }

  void run(std::int64_t count) override { check_mpi(conversation_->run(count * trips_)); }

  Verification verify() override {
    std::int64_t wrong = conversation_->wrong_bytes();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, of all pairs", static_cast<double>(wrong), 0.0};
  }

  Start start() const override { return Start::kFree; }  // before_sample() has seen to it
  bool times_here() const override { return conversation_->pair().first; }
  bool keeps_fastest() const override { return true; }

 protected:
  explicit PairsAtOnce(const Context& context) : context_(context) {}

  // Allocates for messages of `bytes` there and `back` back.
  void begin(const Pair& pair, std::size_t bytes, std::size_t back, PlantedFault fault) {
    trips_ = trips_of(bytes);
    conversation_.emplace(context_, pair,
                          Conversation::Terms{Mode::kBlocking, bytes, back, 1, fault});
    conversation_->begin(
        [](const Parties& parties) { return make_round_trips(Mode::kBlocking, parties); });
  }

  Context context_;
  std::int64_t trips_ = 1;

 private:
  std::optional<Conversation> conversation_;
};

}  // namespace assay
