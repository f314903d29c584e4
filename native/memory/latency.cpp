// memory.latency: a chain of dependent loads (pointer chasing) at random over a working set.
#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/chain.hpp"
#include "memory/numa.hpp"
#include "memory/pages.hpp"
#include "memory/sizes.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLoadsPerCount = 1024;
constexpr std::size_t kTimesCaches = 4;
// Upper limit of the working set: a single core can't fill the caches of a large node.
constexpr std::size_t kEnoughBytes = std::size_t{1} << 30;
constexpr double kPartOfMemory = 0.5;

class Latency : public Kernel {
 public:
  Latency(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    const std::int64_t bytes = parameters.integer("bytes", 0);
    if (bytes < 0) throw KernelError("parameter 'bytes' must not be negative");
    pages_ = parameters.choice("pages", "huge", {"huge", "small"}) == "huge" ? Pages::Size::huge
                                                                             : Pages::Size::small;
    memory_node_ = read_memory_node(parameters, context_);
    bytes_ = bytes > 0 ? static_cast<std::size_t>(bytes) : automatic_bytes();
    fault_ = PlantedFault(parameters, {"cut", "swap", "skip"});
  }

  void setup() override {
    chain_ = Chain(greatest_of_ranks(context_.comm, bytes_));
    parameters_.resolve("bytes", static_cast<std::int64_t>(chain_.bytes()));
    require_memory(context_, kPartOfMemory, static_cast<double>(chain_.bytes()), "working sets",
                   "give a smaller number of 'bytes'");
    chain_.link(pages_, memory_node_, draws_of_rank(context_.seed, context_.rank));
    chain_.go_round();  // warms the caches with the lines that fit
  }

  void run(std::int64_t count) override {
    for (std::int64_t k = 0; k < count; ++k) chain_.chase(kLoadsPerCount);
  }

  std::int64_t max_batch() const override { return std::int64_t{1} << 30; }
  double operations_per_count() const override { return static_cast<double>(kLoadsPerCount); }

  Verification verify() override {
    if (fault_.is("cut")) chain_.cut();
    if (fault_.is("swap")) chain_.swap_two();
    if (fault_.is("skip")) chain_.miscount();
    const std::size_t wrong = chain_.wrong();
    return {wrong == 0, "cache lines missed or met twice in a cycle", static_cast<double>(wrong),
            0.0};
  }

  std::map<std::string, Value> facts() const override {
    return {{"line", static_cast<std::int64_t>(chain_.line())},
            {"huge_page_share", chain_.huge_page_share()},
            {"lies_on_node", std::int64_t{chain_.lies_on_node()}}};
  }

 private:
  std::size_t automatic_bytes() const {
    const double affordable = memory_per_rank(context_, kPartOfMemory);
    const std::size_t bytes = std::min(kTimesCaches * node_caches(context_), kEnoughBytes);
    return static_cast<double>(bytes) <= affordable ? bytes : static_cast<std::size_t>(affordable);
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0
  std::size_t bytes_ = 0;
  Pages::Size pages_ = Pages::Size::huge;
  int memory_node_ = Pages::kFirstTouch;
  Chain chain_;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.latency", Latency);

}  // namespace
}  // namespace assay
