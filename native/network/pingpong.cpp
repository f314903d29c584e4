// network.pingpong: a message to another rank and one of the same size back, repeatedly.
#include <optional>

#include "harness/kernel.hpp"
#include "network/conversation.hpp"
#include "network/exchange.hpp"
#include "network/pair.hpp"

namespace assay {
namespace {

// Messages may exceed 2^31 bytes here; other kernels don't send such messages.
constexpr std::int64_t kLargestPingPong = std::int64_t{1} << 33;

class PingPong : public Kernel {
 public:
  PingPong(const Context& context, Parameters& parameters) : context_(context) {
    const std::size_t bytes = read_message_size(parameters, kLargestPingPong);
    const Pair pair = read_pair(context, parameters, "a ping-pong");
    mode_ = read_mode(parameters, "blocking");
    // A put only sends, and a get only fetches; neither has an answer.
    const std::size_t there = mode_ == Mode::kGet ? 0 : bytes;
    const std::size_t back = mode_ == Mode::kPut ? 0 : bytes;
    conversation_.emplace(context, pair,
                          Conversation::Terms{mode_, there, back, 1, read_fault(parameters)});
  }

  void setup() override {
    conversation_->begin([&](const Parties& parties) { return make_round_trips(mode_, parties); });
  }

  void run(std::int64_t count) override { check_mpi(conversation_->run(count)); }

  Verification verify() override {
    std::int64_t wrong = conversation_->wrong_bytes();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, at both ends", static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return is_one_sided(mode_) ? 1.0 : 2.0; }
  Start start() const override { return Start::kFree; }
  bool times_here() const override { return conversation_->pair().first; }

 private:
  Context context_;
  Mode mode_ = Mode::kBlocking;
  std::optional<Conversation> conversation_;
};

ASSAY_KERNEL("network.pingpong", PingPong);

}  // namespace
}  // namespace assay
