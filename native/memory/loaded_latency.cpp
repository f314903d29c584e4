// memory.loaded_latency: dependent loads on one core while the others stream at a given rate.
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/chain.hpp"
#include "memory/numa.hpp"
#include "memory/pages.hpp"
#include "memory/sizes.hpp"
#include "memory/stream_loops.hpp"
#include "memory/stream_sizes.hpp"

namespace assay {
namespace {

using stream::Variant;

// Loads of a sample: some milliseconds, so that it holds many bursts of each streaming thread.
constexpr std::int64_t kLoadsOfSample = std::int64_t{1} << 15;
constexpr std::size_t kTimesCacheOfCore = 4;
constexpr std::size_t kMostBytesOfChain = std::size_t{1} << 30;
constexpr double kPartForChain = 0.25;
// Elements between two looks at the clock: short bursts while the rate is limited, and longer ones
// at the full rate, where each look would cost rate.
constexpr std::size_t kBurst = 512;
constexpr std::size_t kFullBurst = 2048;
// A thread that falls behind by more bursts than this does not catch up.
constexpr Ticks kMostBehind = 8;
// Nanoseconds between two bursts at most: threads that got no time yield no rate to pace by.
constexpr double kLongestPause = 1e8;
// Seconds in which the full rate is measured: more than a round of a short chain, and not endless
// if the streaming threads get no time.
constexpr double kLeastWarmUp = 0.02;
constexpr double kMostWarmUp = 2.0;
// The time in which each kind of stores shows its rate, and how often; the best counts.
constexpr std::chrono::milliseconds kTrial{10};
constexpr int kTrialRounds = 3;

// What the streaming threads shall do.
enum class Task { kWait, kFull, kPaced, kStop };

// Streams through its own part of the arrays in a thread of its own.
struct Streamer {
  cpu_set_t cpus;
  double* to = nullptr;
  double* x = nullptr;
  double* y = nullptr;
  std::size_t first = 0;  // index of its first element
  std::size_t elements = 0;
  // Written by its thread; read by the others while it runs.
  alignas(128) std::atomic<std::int64_t> done{0};  // elements, over all passes
  std::thread thread;
};

class LoadedLatency : public Kernel {
 public:
  LoadedLatency(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    load_ = parameters.integer("load", 100, 0, 100);
    const std::string op = parameters.choice("op", "triad", {"copy", "scale", "sum", "triad"});
    for (const stream::Operation& each : stream::operations()) {
      if (each.name == op) operation_ = &each;
    }
    const std::string stores =
        parameters.choice("stores", "auto", {"auto", "ordinary", "nontemporal"});
    for (const Variant& each : operation_->variants) {
      if (stores == "auto" || stores == each.stores) candidates_.push_back(&each);
    }
    if (candidates_.empty()) {
      throw KernelError("the kernels were built for a processor without non-temporal stores");
    }
    elements_ = parameters.integer("elements", 0);
    bytes_ = parameters.integer("bytes", 0);
    if (elements_ < 0) throw KernelError("parameter 'elements' must not be negative");
    if (bytes_ < 0) throw KernelError("parameter 'bytes' must not be negative");
    if (context.local_size != 1) {
      throw KernelError("memory.loaded_latency needs one rank per node; its threads stream");
    }
    if (load_ > 0 && context.threads < 2) {
      throw KernelError(
          "a load on memory needs at least 2 threads: one measures the latency, the others stream");
    }
    memory_node_ = read_memory_node(parameters, context_);
    fault_ = PlantedFault(parameters, {"cut", "swap", "skip", "value", "nan", "count"});
  }

  ~LoadedLatency() override {
    stop();
    for (Pages& each : arrays_) keep_as_spare(std::move(each));
  }
  LoadedLatency(const LoadedLatency&) = delete;
  LoadedLatency& operator=(const LoadedLatency&) = delete;

  void setup() override {
    const auto wanted = bytes_ > 0 ? static_cast<std::size_t>(bytes_) : automatic_bytes_of_chain();
    chain_ = Chain(greatest_of_ranks(context_.comm, wanted));
    parameters_.resolve("bytes", static_cast<std::int64_t>(chain_.bytes()));
    require_memory(context_, kPartForChain, static_cast<double>(chain_.bytes()), "working sets",
                   "give a smaller number of 'bytes'");
    const std::size_t length = greatest_of_ranks(
        context_.comm,
        elements_ > 0 ? static_cast<std::size_t>(elements_)
                      : stream::automatic_elements(context_, std::max(context_.threads - 1, 1)));
    parameters_.resolve("elements", static_cast<std::int64_t>(length));
    if (load_ > 0) allocate(length);
    chain_.link(Pages::Size::huge, memory_node_, draws_of_rank(context_.seed, context_.rank));
    if (load_ > 0) start();
    // Warms the caches, and shows the full rate beside the loads.
    const Reading begin = read();
    do {
      chain_.go_round();
      full_rate_ = rate_since(begin);
    } while (load_ > 0 && !(full_rate_ > 0 && seconds(ticks() - begin.at) >= kLeastWarmUp) &&
             seconds(ticks() - begin.at) < kMostWarmUp);
    if (load_ > 0 && load_ < 100) {
      const double rate =
          full_rate_ / static_cast<double>(streamers_.size()) * static_cast<double>(load_) / 100.0;
      interval_ = std::min(kBurst * bytes_of_element() / rate * 1e9, kLongestPause);
      order(Task::kPaced);
    }
  }

  void run(std::int64_t count) override {
    for (std::int64_t k = 0; k < count; ++k) {
      const Reading begin = read();
      chain_.chase(kLoadsOfSample);
      if (load_ > 0) traffic_.push_back(rate_since(begin));
    }
  }

  std::int64_t max_batch() const override { return 1; }
  double operations_per_count() const override { return static_cast<double>(kLoadsOfSample); }

  // The chain as in memory.latency; and every element must hold the result of the pass that the
  // count of its thread says, so that the counts are right.
  Verification verify() override {
    stop();
    inject_fault();
    const std::size_t wrong = chain_.wrong();
    if (wrong > 0) {
      return {false, "cache lines missed or met twice in a cycle", static_cast<double>(wrong), 0.0};
    }
    stream::Errors errors;
    for (const auto& each : streamers_) add_errors(*each, errors);
    // As derived in memory.stream.
    const double tolerance =
        (2 * operation_->flops + 1) * std::numeric_limits<double>::epsilon() / 2;
    const double error =
        errors.not_numbers > 0 ? std::numeric_limits<double>::quiet_NaN() : errors.greatest;
    return {error <= tolerance, "greatest relative error of a streamed element", error, tolerance};
  }

  // One value per sample.
  std::vector<Series> series() const override {
    if (traffic_.empty()) return {};
    return {{"traffic", "B/s", {}, {}, traffic_}};
  }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> found{
        {"line", static_cast<std::int64_t>(chain_.line())},
        {"huge_page_share", chain_.huge_page_share()},
        {"lies_on_node", std::int64_t{chain_.lies_on_node()}},
        {"streaming_threads", static_cast<std::int64_t>(streamers_.size())}};
    if (load_ > 0) found["full_rate"] = full_rate_;
    return found;
  }

 private:
  struct Reading {
    Ticks at;
    double bytes;
  };

  double bytes_of_element() const {
    return sizeof(double) * static_cast<double>(1 + operation_->reads);
  }

  Reading read() const {
    double elements = 0.0;
    for (const auto& each : streamers_) {
      elements += static_cast<double>(each->done.load(std::memory_order_relaxed));
    }
    return {ticks(), elements * bytes_of_element()};
  }

  double rate_since(const Reading& begin) const {
    const Reading now = read();
    return (now.bytes - begin.bytes) / seconds(std::max<Ticks>(now.at - begin.at, 1));
  }

  // Several times the last-level cache that the loading core can fill: not those of other cores.
  std::size_t automatic_bytes_of_chain() const {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    sched_getaffinity(0, sizeof mine, &mine);
    std::size_t cache = 0;
    for (const Cpu& cpu : read_cpus(mine)) {
      cache = std::max(cache, read_caches({cpu}).last_level_node);
    }
    if (cache == 0) cache = node_caches(context_);
    const double affordable = memory_per_rank(context_, kPartForChain);
    const std::size_t bytes = std::min(kTimesCacheOfCore * cache, kMostBytesOfChain);
    return static_cast<double>(bytes) <= affordable ? bytes : static_cast<std::size_t>(affordable);
  }

  void allocate(std::size_t length) {
    const int arrays = 1 + operation_->reads;
    require_memory(context_, stream::kPartOfMemory,
                   static_cast<double>(length) * bytes_of_element(),
                   std::to_string(arrays) + " arrays of " + std::to_string(length) + " elements",
                   "give a smaller number of 'elements'");
    for (int k = 0; k < arrays; ++k) {
      arrays_.push_back(take_spare_pages(length * sizeof(double), Pages::Size::huge, memory_node_));
    }
    const auto threads = static_cast<std::size_t>(context_.threads);
    std::vector<cpu_set_t> cpus(threads);
#pragma omp parallel num_threads(context_.threads)
    {
      // The harness pinned the threads of OpenMP.
      cpu_set_t& mine = cpus[static_cast<std::size_t>(omp_get_thread_num())];
      CPU_ZERO(&mine);
      sched_getaffinity(0, sizeof mine, &mine);
    }
    const std::size_t parts = threads - 1;
    const std::size_t share = (length + parts * stream::kChunkElements - 1) /
                              (parts * stream::kChunkElements) * stream::kChunkElements;
    for (std::size_t part = 0; part < parts; ++part) {
      auto streamer = std::make_unique<Streamer>();
      streamer->cpus = cpus[part + 1];
      streamer->first = std::min(length, part * share);
      streamer->elements = std::min(length, (part + 1) * share) - streamer->first;
      streamer->to = arrays_[0].as<double>() + streamer->first;
      streamer->x = arrays_[1].as<double>() + streamer->first;
      if (operation_->reads == 2) streamer->y = arrays_[2].as<double>() + streamer->first;
      if (streamer->elements > 0) streamers_.push_back(std::move(streamer));
    }
  }

  // Starts the threads, and waits until each has streamed through its part once.
  void start() {
    variant_.store(candidates_.front(), std::memory_order_relaxed);
    for (const auto& each : streamers_) {
      each->thread = std::thread([this, &streamer = *each] { stream(streamer); });
    }
    const auto all = static_cast<int>(streamers_.size());
    for (int ready = 0; ready < all; ready = ready_.load(std::memory_order_acquire)) {
      ready_.wait(ready, std::memory_order_acquire);
    }
    order(Task::kFull);
    choose_variant();
    parameters_.resolve("stores", std::string(variant_.load(std::memory_order_relaxed)->stores));
  }

  void order(Task task) {
    task_.store(task, std::memory_order_release);
    task_.notify_all();
  }

  void choose_variant() {
    if (candidates_.size() == 1) return;
    std::vector<double> best(candidates_.size(), 0.0);
    for (int round = 0; round < kTrialRounds; ++round) {
      for (std::size_t k = 0; k < candidates_.size(); ++k) {
        variant_.store(candidates_[k], std::memory_order_relaxed);
        const Reading begin = read();
        std::this_thread::sleep_for(kTrial);
        best[k] = std::max(best[k], rate_since(begin));
      }
    }
    const auto fastest = std::max_element(best.begin(), best.end()) - best.begin();
    variant_.store(candidates_[static_cast<std::size_t>(fastest)], std::memory_order_relaxed);
  }

  void stop() {
    order(Task::kStop);
    for (const auto& each : streamers_) {
      if (each->thread.joinable()) each->thread.join();
    }
  }

  // A streaming thread, from its first touch until it is stopped.
  void stream(Streamer& mine) {
    sched_setaffinity(0, sizeof mine.cpus, &mine.cpus);
    for (std::size_t i = 0; i < mine.elements; ++i) {
      mine.x[i] = stream::x_value(mine.first + i);
      if (mine.y != nullptr) mine.y[i] = stream::y_value(mine.first + i);
    }
    std::size_t at = 0;
    std::int64_t passes = 0;
    while (passes == 0) burst(mine, kFullBurst, at, passes);
    ready_.fetch_add(1, std::memory_order_release);
    ready_.notify_all();
    task_.wait(Task::kWait, std::memory_order_acquire);
    Ticks due = 0;
    for (Task task = Task::kFull; task != Task::kStop;
         task = task_.load(std::memory_order_acquire)) {
      if (task == Task::kFull) {
        burst(mine, kFullBurst, at, passes);
        continue;
      }
      const Ticks now = ticks();
      if (now < due) continue;
      const auto interval = static_cast<Ticks>(interval_);
      due = std::max(due, now - kMostBehind * interval) + interval;
      burst(mine, kBurst, at, passes);
    }
  }

  // Streams that many elements, or as many as are left of the pass.
  void burst(Streamer& mine, std::size_t most, std::size_t& at, std::int64_t& passes) {
    const std::size_t count = std::min(most, mine.elements - at);
    const double* const y = mine.y == nullptr ? nullptr : mine.y + at;
    variant_.load(std::memory_order_relaxed)
        ->pass(mine.to + at, mine.x + at, y, stream::scalar_of_pass(passes), count);
    at += count;
    mine.done.store(mine.done.load(std::memory_order_relaxed) + static_cast<std::int64_t>(count),
                    std::memory_order_relaxed);
    if (at < mine.elements) return;
    at = 0;
    ++passes;
  }

  // Elements before the thread's place hold the results of its last pass, the others those of the
  // pass before.
  void add_errors(const Streamer& each, stream::Errors& errors) const {
    const auto length = static_cast<std::int64_t>(each.elements);
    const std::int64_t passes = each.done.load(std::memory_order_relaxed) / length;
    const auto place = static_cast<std::size_t>(each.done.load(std::memory_order_relaxed) % length);
    const auto add = [&](std::size_t from, std::size_t to, std::int64_t pass) {
      const stream::Errors found = operation_->check(each.to + from, each.first + from, to - from,
                                                     stream::scalar_of_pass(pass));
      errors.greatest = std::max(errors.greatest, found.greatest);
      errors.not_numbers += found.not_numbers;
    };
    add(0, place, passes);
    add(place, each.elements, passes - 1);
  }

  void inject_fault() {
    if (fault_.is("cut")) chain_.cut();
    if (fault_.is("swap")) chain_.swap_two();
    if (fault_.is("skip")) chain_.miscount();
    if (streamers_.empty()) return;
    Streamer& last = *streamers_.back();
    double& middle = last.to[last.elements / 2];
    if (fault_.is("value")) middle *= 1.0 + 1e-14;
    if (fault_.is("nan")) middle = std::numeric_limits<double>::quiet_NaN();
    if (fault_.is("count")) last.done += static_cast<std::int64_t>(last.elements);
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0 and "auto"
  std::int64_t load_ = 100;
  std::int64_t elements_ = 0;
  std::int64_t bytes_ = 0;
  int memory_node_ = Pages::kFirstTouch;
  const stream::Operation* operation_ = nullptr;
  std::vector<const Variant*> candidates_;
  Chain chain_;
  std::vector<Pages> arrays_;
  double full_rate_ = 0.0;  // B/s of all streaming threads
  double interval_ = 0.0;   // ns from one burst of a thread to its next; set before kPaced
  std::vector<double> traffic_;
  std::atomic<Task> task_{Task::kWait};
  std::atomic<const Variant*> variant_{nullptr};
  std::atomic<int> ready_{0};
  std::vector<std::unique_ptr<Streamer>> streamers_;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.loaded_latency", LoadedLatency);

}  // namespace
}  // namespace assay
