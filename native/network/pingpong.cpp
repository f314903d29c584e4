// network.pingpong: a message to another rank and one of the same size back, repeatedly.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/kernel.hpp"
#include "network/conversation.hpp"
#include "network/device_buffers.hpp"
#include "network/exchange.hpp"
#include "network/mpi_four.hpp"
#include "network/pair.hpp"

namespace assay {
namespace {

// Messages may exceed 2^31 bytes here; other kernels don't send such messages.
constexpr std::int64_t kLargestPingPong = std::int64_t{1} << 33;
constexpr std::int64_t kMostPartitions = 4096;

class PingPong : public Kernel {
 public:
  PingPong(const Context& context, Parameters& parameters) : context_(context) {
    const std::size_t bytes = read_message_size(parameters, kLargestPingPong);
    const Pair pair = read_pair(context, parameters, "a ping-pong");
    mode_ = read_mode(parameters, "blocking", true);
    if (mode_ == Mode::kPartitioned) {
      partitions_ = static_cast<int>(parameters.integer("partitions", 4, 1, kMostPartitions));
#if !defined(ASSAY_HAVE_MPI_4)
      throw_no_mpi_4("mode = partitioned");
#endif
      if (bytes % static_cast<std::size_t>(partitions_) != 0) {
        throw KernelError("'bytes' must be a multiple of 'partitions', " +
                          std::to_string(partitions_) + ", not " + std::to_string(bytes));
      }
    }
    memory_.emplace(context, parameters);
    if (memory_->on_device() && is_one_sided(mode_)) {
      throw KernelError("memory = device: mode = put and get use memory of MPI's own");
    }
    // A put only sends, and a get only fetches; neither has an answer.
    const std::size_t there = mode_ == Mode::kGet ? 0 : bytes;
    const std::size_t back = mode_ == Mode::kPut ? 0 : bytes;
    conversation_.emplace(
        context, pair,
        Conversation::Terms{mode_, there, back, 1, read_fault(parameters), 0, memory_->memory()});
  }

  void setup() override {
    memory_->open(context_, conversation_->pair().takes_part());
    conversation_->begin([&](const Parties& parties) {
      return mode_ == Mode::kPartitioned ? make_partitioned_trips(partitions_, parties)
                                         : make_round_trips(mode_, parties);
    });
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
  std::map<std::string, Value> facts() const override { return memory_->facts(); }
  std::vector<std::string> device_addresses() const override { return memory_->addresses(); }

 private:
  Context context_;
  Mode mode_ = Mode::kBlocking;
  int partitions_ = 1;
  std::optional<DeviceBuffers> memory_;
  std::optional<Conversation> conversation_;
};

ASSAY_KERNEL("network.pingpong", PingPong);

}  // namespace
}  // namespace assay
