// network.multi_pingpong: all ranks in pairs, all pairs play ping-pong concurrently.
#include <string>

#include "network/pairing.hpp"
#include "network/pairs_at_once.hpp"

namespace assay {
namespace {

class MultiPingPong : public PairsAtOnce {
 public:
  MultiPingPong(const Context& context, Parameters& parameters) : PairsAtOnce(context) {
    bytes_ = read_message_size(parameters);
    halves_ = parameters.choice("pairing", "halves", {"halves", "neighbours"}) == "halves";
    if (context.size % 2 != 0) {
      throw KernelError("pairs need an even number of ranks, not " + std::to_string(context.size));
    }
    fault_ = read_fault(parameters);
  }

  void setup() override {
    const int partner = halves_ ? partner_in_halves(context_.rank, context_.size)
                                : partner_of_neighbours(context_.rank);
    begin({context_.comm, context_.rank, partner, context_.rank < partner}, bytes_, bytes_, fault_);
  }

  double operations_per_count() const override { return 2.0 * static_cast<double>(trips_); }

  std::map<std::string, Value> facts() const override {
    return {{"pairs", std::int64_t{context_.size / 2}}};
  }

 private:
  std::size_t bytes_ = 0;
  bool halves_ = true;
  PlantedFault fault_;
};

ASSAY_KERNEL("network.multi_pingpong", MultiPingPong);

}  // namespace
}  // namespace assay
