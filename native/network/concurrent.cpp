// network.concurrent: ranks of one node send concurrently, each to another node (Luecke, Li & Cuma
// 2005, 4.3, figure 9).
#include <string>

#include "network/pairing.hpp"
#include "network/pairs_at_once.hpp"

namespace assay {
namespace {

class Concurrent : public PairsAtOnce {
 public:
  Concurrent(const Context& context, Parameters& parameters)
      : PairsAtOnce(context), parameters_(parameters) {
    bytes_ = read_message_size(parameters);
    senders_ = parameters.integer("senders", 0);
    if (senders_ < 0) {
      throw KernelError("parameter 'senders' must be at least 0, not " + std::to_string(senders_));
    }
    if (context.size < 2) throw KernelError("sending needs at least 2 ranks");
    fault_ = read_fault(parameters);
  }

  void setup() override {
    const auto pairs = senders_and_receivers(context_.nodes);
    const auto most = static_cast<std::int64_t>(pairs.size());
    if (senders_ > most) {
      throw KernelError("parameter 'senders' is " + std::to_string(senders_) + ", but only " +
                        std::to_string(most) + " ranks of the first node have a partner");
    }
    if (senders_ == 0) senders_ = most;
    parameters_.resolve("senders", senders_);
    Pair mine{context_.comm, context_.rank, MPI_PROC_NULL, false};
    for (std::int64_t i = 0; i < senders_; ++i) {
      const auto [from, to] = pairs[static_cast<std::size_t>(i)];
      if (context_.rank == from || context_.rank == to) mine = pair_of(context_, from, to);
      partners_ += (i == 0 ? "" : " ") + std::to_string(from) + ">" + std::to_string(to);
    }
    begin(mine, bytes_, 0, fault_);
  }

  double operations_per_count() const override { return static_cast<double>(trips_); }

  std::map<std::string, Value> facts() const override { return {{"partners", partners_}}; }

 private:
  Parameters& parameters_;
  std::size_t bytes_ = 0;
  std::int64_t senders_ = 0;
  std::string partners_;
  PlantedFault fault_;
};

ASSAY_KERNEL("network.concurrent", Concurrent);

}  // namespace
}  // namespace assay
