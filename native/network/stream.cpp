// network.stream: windows of messages in flight from one rank to another, or in both directions.
#include <algorithm>
#include <optional>
#include <string>

#include "harness/kernel.hpp"
#include "network/conversation.hpp"
#include "network/exchange.hpp"
#include "network/pair.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLargestWindow = 4096;

class MessageStream : public Kernel {
 public:
  MessageStream(const Context& context, Parameters& parameters) : context_(context) {
    const std::size_t bytes = read_message_size(parameters);
    const Pair pair = read_pair(context, parameters, "a stream of messages");
    mode_ = read_mode(parameters, "nonblocking");
    both_ways_ = parameters.choice("direction", "unidirectional",
                                   {"unidirectional", "bidirectional"}) == "bidirectional";
    const std::int64_t window = parameters.integer("window", 64, 1, kLargestWindow);
    if (both_ways_ && mode_ == Mode::kBlocking) {
      throw KernelError(
          "two ranks that send to each other by MPI_Send at once may wait forever; use another "
          "'mode', or direction = unidirectional");
    }
    window_ = static_cast<int>(window);
    const bool apart = parameters.choice("buffers", "one", {"one", "each"}) == "each";
    const bool from_first = both_ways_ || mode_ != Mode::kGet;
    const bool from_second = both_ways_ || mode_ == Mode::kGet;
    conversation_.emplace(
        context, pair,
        Conversation::Terms{mode_, from_first ? bytes : 0, from_second ? bytes : 0,
                            apart ? static_cast<std::size_t>(window) : 1, read_fault(parameters)});
  }

  void setup() override {
    conversation_->begin(
        [&](const Parties& parties) { return make_windows(mode_, both_ways_, window_, parties); });
  }

  void run(std::int64_t count) override { check_mpi(conversation_->run(count)); }

  Verification verify() override {
    std::int64_t wrong = conversation_->wrong_bytes();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, where messages arrived",
            static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return window_; }
  std::int64_t max_batch() const override { return std::max<std::int64_t>(1, 65536 / window_); }
  Start start() const override { return Start::kFree; }
  // In both directions the windows of one rank close slightly after the other's.
  bool times_here() const override {
    return conversation_->pair().first || (both_ways_ && conversation_->pair().takes_part());
  }

 private:
  Context context_;
  Mode mode_ = Mode::kNonblocking;
  bool both_ways_ = false;
  int window_ = 1;
  std::optional<Conversation> conversation_;
};

ASSAY_KERNEL("network.stream", MessageStream);

}  // namespace
}  // namespace assay
