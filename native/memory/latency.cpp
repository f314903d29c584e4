// memory.latency: a chain of dependent loads (pointer chasing) at random over a working set.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/draws.hpp"
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
constexpr std::size_t kUsualLine = 64;

// The bytes of a cache line.
std::size_t cache_line() {
#ifdef _SC_LEVEL1_DCACHE_LINESIZE
  const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  if (line >= static_cast<long>(sizeof(void*)) && line <= 4096) {
    return static_cast<std::size_t>(line);
  }
#endif
  return kUsualLine;
}

class Latency : public Kernel {
 public:
  Latency(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters), line_(cache_line()) {
    const std::int64_t bytes = parameters.integer("bytes", 0);
    if (bytes < 0) throw KernelError("parameter 'bytes' must not be negative");
    pages_ = parameters.choice("pages", "huge", {"huge", "small"}) == "huge" ? Pages::Size::huge
                                                                             : Pages::Size::small;
    memory_node_ = read_memory_node(parameters, context_);
    const std::size_t wanted = bytes > 0 ? static_cast<std::size_t>(bytes) : automatic_bytes();
    lines_ = std::max<std::size_t>(wanted / line_, 1);
    fault_ = PlantedFault(parameters, {"cut", "swap", "skip"});
  }

  ~Latency() override { keep_as_spare(std::move(memory_)); }
  Latency(const Latency&) = delete;
  Latency& operator=(const Latency&) = delete;

  void setup() override {
    lines_ = greatest_of_ranks(context_.comm, lines_);
    parameters_.resolve("bytes", static_cast<std::int64_t>(lines_ * line_));
    require_memory(context_, kPartOfMemory, static_cast<double>(lines_ * line_), "working sets",
                   "give a smaller number of 'bytes'");
    memory_ = take_spare_pages(lines_ * line_, pages_, memory_node_);
    link();
    at_ = first();
    chase(static_cast<std::int64_t>(lines_));  // warms the caches with the lines that fit
    at_ = first();
  }

  void run(std::int64_t count) override {
    for (std::int64_t k = 0; k < count; ++k) chase(kLoadsPerCount);
    loads_ += count * kLoadsPerCount;
  }

  std::int64_t max_batch() const override { return std::int64_t{1} << 30; }
  double operations_per_count() const override { return static_cast<double>(kLoadsPerCount); }

  // One cycle from the start must visit every line once and return, and the timed loads must have
  // ended where that number of steps leads.
  Verification verify() override {
    inject_fault();
    const auto steps = static_cast<std::size_t>(loads_) % lines_;
    std::vector<bool> met(lines_, false);
    std::size_t wrong = 0;
    void* const* place = first();
    for (std::size_t k = 0; k < lines_; ++k) {
      if (k == steps && place != at_) ++wrong;
      const std::size_t line = index_of(place);
      if (line == lines_ || met[line]) {
        wrong += lines_ - k;  // the rest of the cycle is never reached
        break;
      }
      met[line] = true;
      place = static_cast<void* const*>(*place);
    }
    if (wrong == 0 && place != first()) ++wrong;
    return {wrong == 0, "cache lines missed or met twice in a cycle", static_cast<double>(wrong),
            0.0};
  }

  std::map<std::string, Value> facts() const override {
    return {{"line", static_cast<std::int64_t>(line_)},
            {"huge_page_share",
             static_cast<double>(memory_.on_huge_pages()) / static_cast<double>(memory_.bytes())},
            {"lies_on_node", std::int64_t{node_of_page(memory_.as<char>())}}};
  }

 private:
  std::size_t automatic_bytes() const {
    const double affordable = memory_per_rank(context_, kPartOfMemory);
    const std::size_t bytes = std::min(kTimesCaches * node_caches(context_), kEnoughBytes);
    return static_cast<double>(bytes) <= affordable ? bytes : static_cast<std::size_t>(affordable);
  }

  void** place(std::size_t line) const {
    return reinterpret_cast<void**>(memory_.as<char>() + line * line_);
  }
  void** first() const { return place(0); }

  // The line at that address; lines_ if no line begins there.
  std::size_t index_of(const void* address) const {
    const auto distance =
        static_cast<std::size_t>(static_cast<const char*>(address) - memory_.as<char>());
    return distance % line_ == 0 && distance / line_ < lines_ ? distance / line_ : lines_;
  }

  // A random permutation that is a single cycle (Sattolo 1986): each line swaps successors with an
  // earlier one.
  void link() {
    for (std::size_t line = 0; line < lines_; ++line) *place(line) = place(line);
    Draws draws = draws_of_rank(context_.seed, context_.rank);
    for (std::size_t line = lines_ - 1; line > 0; --line) {
      std::swap(*place(line), *place(draws.below(line)));
    }
  }

  // Dependent loads: each uses the address that the one before loaded.
  void chase(std::int64_t loads) {
    void* const* place = at_;
    for (std::int64_t k = 0; k < loads; ++k) place = static_cast<void* const*>(*place);
    at_ = place;
  }

  void inject_fault() {
    if (fault_.is("cut")) *place(lines_ / 2) = first();
    if (fault_.is("swap")) std::swap(*place(lines_ / 2), *place(lines_ / 3));
    if (fault_.is("skip")) ++loads_;
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0
  std::size_t line_ = kUsualLine;
  std::size_t lines_ = 1;
  Pages::Size pages_ = Pages::Size::huge;
  int memory_node_ = Pages::kFirstTouch;
  Pages memory_;
  void* const* at_ = nullptr;
  std::int64_t loads_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.latency", Latency);

}  // namespace
}  // namespace assay
