// memory.core_to_core: a cache line bounced between every two of the CPUs, as a matrix.
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/stop_rule.hpp"
#include "harness/text_file.hpp"
#include "harness/topology.hpp"
#include "memory/core_rounds.hpp"
#include "memory/pages.hpp"

namespace assay {
namespace {

// The trips of a pair come in blocks; the median of the blocks counts, so that an interruption in
// one of them does not.
constexpr int kBlocks = 5;
constexpr std::uint64_t kWarmTrips = 50;
constexpr std::int64_t kMostTrips = 1'000'000;
constexpr std::int64_t kUsualMost = 2080;  // all pairs of up to 64 CPUs
// Seconds of a pass: seven of them, two of which aren't samples, in each of six launches take less
// than a minute.
constexpr double kLongestPass = 1.0;
// A pass takes this part of the measurement's time at most, for the same seven passes.
constexpr double kPartOfTime = 1.0 / 8.0;
// A page for each line: it lies on the NUMA node of the CPU that touches it first.
constexpr std::size_t kPage = 4096;

// The whole of a bounced line. Its value counts the turns of both sides.
using Line = std::atomic<std::uint64_t>;

cpu_set_t own_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  return set;
}

// Takes the turn as soon as the other side has taken the one before. The compare-and-swap asks for
// the line with the right to write, so that each turn moves the line once.
void take_turn(Line& line, std::uint64_t before) {
  std::uint64_t seen = before;
  while (!line.compare_exchange_weak(seen, before + 1, std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
    seen = before;
  }
}

// The first of the CPUs that share the greatest cache of this one; -1 if the system doesn't say.
int shared_cache(int cpu) {
  const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cache/";
  int greatest = 0;
  int first = -1;
  for (const std::string& name : names_in(folder)) {
    if (!name.starts_with("index")) continue;
    const std::string level = first_line(folder + name + "/level");
    const std::vector<int> sharing = parse_cpu_list(first_line(folder + name + "/shared_cpu_list"));
    if (level.empty() || sharing.empty() || level[0] - '0' <= greatest) continue;
    greatest = level[0] - '0';
    first = *std::min_element(sharing.begin(), sharing.end());
  }
  return first;
}

class CoreToCore : public Kernel {
 public:
  CoreToCore(const Context& context, Parameters& parameters) : context_(context) {
    trips_ = static_cast<std::uint64_t>(parameters.integer("trips", 200, 1, kMostTrips));
    most_ = parameters.integer("most", kUsualMost, 1, kMostSeries);
    if (context.size != 1) throw KernelError("memory.core_to_core needs a single rank");
    if (context.threads < 2) {
      throw KernelError("memory.core_to_core needs at least 2 threads, each on its own CPU");
    }
    fault_ = PlantedFault(parameters, {"turn", "trip"});
  }

  void setup() override {
    lines_ = Pages(kPage * static_cast<std::size_t>(context_.threads), Pages::Size::small);
    cpus_.resize(static_cast<std::size_t>(context_.threads));
#pragma omp parallel num_threads(context_.threads)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      cpus_[thread] = own_cpus();
      new (&line(thread)) Line(0);
    }
    find_numbers();
    choose_pairs();
  }

  double expected_seconds() const override { return expected_; }

  void run(std::int64_t count) override {
    for (std::int64_t k = 0; k < count; ++k) pass();
    passes_ += static_cast<std::size_t>(count);
  }

  // A sample is one pass over all pairs.
  std::int64_t max_batch() const override { return 1; }

  // Each bounce must have left exactly as many turns in its line as both sides took together. A
  // last pass is there for faults to be planted in.
  Verification verify() override {
    checking_ = true;
    pass();
    return {wrong_ == 0, "turns missing or too many in the bounced lines, over all pairs",
            static_cast<double>(wrong_), 0.0};
  }

  // For each pass the median and the slowest pair; for each pair the median over the passes. The
  // two numbers of a pair are its threads.
  std::vector<Series> series() const override {
    if (passes_ == 0) return {};
    Series typical{"median_pair", "s", {}, {}, {}};
    Series slowest{"slowest_pair", "s", {}, {}, {}};
    std::vector<Series> all;
    for (const Pair& pair : pairs_) {
      const std::vector<double> timed(pair.times.begin(),
                                      pair.times.begin() + static_cast<std::ptrdiff_t>(passes_));
      all.push_back({"pair", "s", pair.one, pair.other, {rounded(median(timed))}});
    }
    for (std::size_t pass = 0; pass < passes_; ++pass) {
      std::vector<double> times;
      for (const Pair& pair : pairs_) times.push_back(pair.times[pass]);
      typical.values.push_back(rounded(median(times)));
      slowest.values.push_back(rounded(*std::max_element(times.begin(), times.end())));
    }
    all.insert(all.begin(), {typical, slowest});
    return all;
  }

  std::map<std::string, Value> facts() const override {
    const auto members = static_cast<std::int64_t>(numbers_.size());
    std::map<int, Cpu> known;
    for (const Cpu& cpu : read_cpus(all_of(cpus_))) known[cpu.id] = cpu;
    std::string cpus, cores, caches, packages, domains;
    const auto add = [](std::string& text, const std::string& number) {
      text += (text.empty() ? "" : " ") + number;
    };
    for (const int id : numbers_) {
      const Cpu& cpu = known[id];
      add(cpus, std::to_string(id));
      add(cores, std::to_string(cpu.package) + "." + std::to_string(cpu.core));
      add(caches, std::to_string(shared_cache(id)));
      add(packages, std::to_string(cpu.package));
      add(domains, std::to_string(cpu.numa));
    }
    return {{"members", members},
            {"pairs", static_cast<std::int64_t>(pairs_.size())},
            {"pairs_in_all", members * (members - 1) / 2},
            {"cpus", cpus},
            {"cores", cores},
            {"shared_caches", caches},
            {"packages", packages},
            {"numa_nodes", domains}};
  }

 private:
  struct Pair {
    int one = 0;
    int other = 0;
    std::vector<double> times;  // seconds one way, one per pass
  };

  static cpu_set_t all_of(const std::vector<cpu_set_t>& sets) {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (const cpu_set_t& set : sets) CPU_OR(&all, &all, &set);
    return all;
  }

  Line& line(std::size_t thread) const {
    return *reinterpret_cast<Line*>(lines_.as<char>() + thread * kPage);
  }

  // The CPU of each thread. Two threads on one CPU would wait for each other's time slices.
  void find_numbers() {
    std::set<int> different;
    for (const cpu_set_t& set : cpus_) {
      for (int id = 0; id < CPU_SETSIZE && CPU_COUNT(&set) == 1; ++id) {
        if (CPU_ISSET(id, &set)) numbers_.push_back(id);
      }
    }
    different.insert(numbers_.begin(), numbers_.end());
    if (different.size() == cpus_.size()) return;
    throw KernelError(
        "memory.core_to_core needs threads that are pinned, each to its own CPU: use a binding "
        "and at most as many threads as CPUs");
  }

  // An untimed pass, which ends when a pass would take too long. Its pairs are measured then.
  void choose_pairs() {
    std::vector<Round> rounds =
        core_rounds(context_.threads, static_cast<std::size_t>(most_), context_.seed);
    const double longest = std::min(kLongestPass, kPartOfTime * context_.deadline.longest());
    const Ticks begin = ticks();
    const auto now = [] { return seconds(ticks()); };
    const auto measure = [&](const Round& round) {
      for (const auto& [one, other] : round) bounce({one, other, {}});
    };
    keep_within(longest, rounds, measure, now);
    expected_ = seconds(ticks() - begin);
    for (const Round& round : rounds) {
      for (const auto& [one, other] : round) pairs_.push_back({one, other, {}});
    }
  }

  // One pair after the other, while all other threads sleep.
  void pass() {
    for (Pair& pair : pairs_) pair.times.push_back(bounce(pair));
  }

  // Seconds one way between the two CPUs; counts what is wrong.
  double bounce(const Pair& pair) {
    const std::uint64_t trips = kWarmTrips + kBlocks * trips_;
    Line& line = this->line(static_cast<std::size_t>(pair.one));
    line.store(0, std::memory_order_relaxed);
    std::vector<double> blocks;
    std::thread answering([&] {
      pin(pair.other);
      for (std::uint64_t k = 0; k < trips; ++k) take_turn(line, 2 * k + 1);
    });
    std::thread asking([&] {
      pin(pair.one);
      std::uint64_t k = 0;
      for (; k < kWarmTrips; ++k) take_turn(line, 2 * k);
      for (int block = 0; block < kBlocks; ++block) {
        const Ticks begin = ticks();
        for (std::uint64_t last = k + trips_; k < last; ++k) take_turn(line, 2 * k);
        blocks.push_back(seconds(ticks() - begin) / (2.0 * static_cast<double>(trips_)));
      }
    });
    asking.join();
    answering.join();
    if (checking_ && fault_.is("turn")) line.fetch_add(1);
    const std::uint64_t expected = 2 * trips + (checking_ && fault_.is("trip") ? 2 : 0);
    const std::uint64_t found = line.load();
    wrong_ += static_cast<std::int64_t>(std::max(found, expected) - std::min(found, expected));
    return median(blocks);
  }

  void pin(int thread) const {
    const cpu_set_t& one = cpus_[static_cast<std::size_t>(thread)];
    sched_setaffinity(0, sizeof one, &one);
  }

  Context context_;
  std::uint64_t trips_ = 0;
  std::int64_t most_ = 0;
  Pages lines_;
  std::vector<cpu_set_t> cpus_;  // of each thread
  std::vector<int> numbers_;
  std::vector<Pair> pairs_;
  std::size_t passes_ = 0;  // timed ones; the check's comes after them
  double expected_ = 0.0;
  bool checking_ = false;
  std::int64_t wrong_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.core_to_core", CoreToCore);

}  // namespace
}  // namespace assay
