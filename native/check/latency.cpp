// Dependent loads at random places, by one core of each NUMA node on its own memory at one time.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <vector>

#include "check/array.hpp"
#include "check/component.hpp"
#include "check/slots.hpp"

namespace assay::check {
namespace {

// As for the triad, here of the cache that one core has.
constexpr std::size_t kTimesCaches = 4;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr std::int64_t kQuantum = 512;  // loads per look at the clock: about 0.05 ms

// A cache line, which begins with the address of the next one.
struct alignas(64) Line {
  Line* next;
};

// A cycle over 2^bits places: a congruential generator of full period (Hull & Dobell 1962, with
// Knuth's multiplier), whose high bits are folded into its low ones, which alone would repeat
// early. Each link follows from its place, so that all cores can make and check parts of the cycle
// from first to last, and the place after any number of steps follows without making them.
class Cycle {
 public:
  explicit Cycle(int bits) : mask_((std::uint64_t{1} << bits) - 1), fold_((bits + 1) / 2) {}

  std::uint64_t size() const { return mask_ + 1; }
  std::uint64_t after(std::uint64_t place) const {
    return folded((kFactor * folded(place) + kTerm) & mask_);
  }
  // Brown (1994): the composition of `steps` steps, by squaring.
  std::uint64_t after(std::uint64_t place, std::uint64_t steps) const {
    std::uint64_t factor = 1;
    std::uint64_t term = 0;
    std::uint64_t square = kFactor;
    std::uint64_t addend = kTerm;
    for (; steps != 0; steps >>= 1) {
      if ((steps & 1) != 0) {
        factor *= square;
        term = term * square + addend;
      }
      addend *= square + 1;
      square *= square;
    }
    return folded((factor * folded(place) + term) & mask_);
  }

 private:
  static constexpr std::uint64_t kFactor = 6364136223846793005U;
  static constexpr std::uint64_t kTerm = 1442695040888963407U;

  // Its own inverse, because at least half of the bits are shifted out.
  std::uint64_t folded(std::uint64_t bits) const { return bits ^ (bits >> fold_); }

  std::uint64_t mask_;
  int fold_;
};

// The memory of a NUMA node, and the members on it; the first one loads.
struct Domain {
  Array<Line> lines;
  std::vector<std::size_t> members;
  Line* at = nullptr;
  std::uint64_t loads = 0;
};

void load_some(Domain& domain) {
  Line* at = domain.at;
  for (std::int64_t k = 0; k < kQuantum; ++k) at = at->next;
  domain.at = at;
  domain.loads += kQuantum;
}

// Calls part(domain, first line, end) on all members, each with its share of its own node.
template <class Part>
void for_all_lines(const Task& task, std::vector<Domain>& domains, const std::vector<int>& node,
                   std::uint64_t lines, const Part& part) {
  task.team.run([&](std::size_t member) {
    Domain& domain = domains[static_cast<std::size_t>(node[member])];
    const std::uint64_t share = lines / domain.members.size() + 1;
    const auto rank = static_cast<std::uint64_t>(
        std::find(domain.members.begin(), domain.members.end(), member) - domain.members.begin());
    part(domain, member, std::min(rank * share, lines), std::min((rank + 1) * share, lines));
  });
}

}  // namespace

// In each repetition the NUMA node with the slowest memory counts: memory is interleaved over the
// channels of a NUMA node, so that a bad module slows all loads of this node down, and no other.
Measured measure_latency(const Task& task) {
  const std::size_t wanted = std::min(kTimesCaches * task.machine.cache_of_core, kMostBytes);
  const Cycle cycle(std::bit_width(std::max<std::size_t>(wanted / sizeof(Line), 2) - 1));
  std::map<int, int> number;  // of the domain, by NUMA node
  std::vector<int> node;      // the domain of each member
  for (const Cpu& cpu : task.machine.cores) {
    node.push_back(number.try_emplace(cpu.numa, static_cast<int>(number.size())).first->second);
  }
  std::vector<Domain> domains(number.size());
  require_memory(static_cast<double>(number.size() * cycle.size() * sizeof(Line)),
                 "the cycles of loads");
  for (Domain& domain : domains) domain.lines = Array<Line>(cycle.size());
  for (std::size_t member = 0; member < node.size(); ++member) {
    domains[static_cast<std::size_t>(node[member])].members.push_back(member);
  }
  for_all_lines(task, domains, node, cycle.size(),
                [&](Domain& domain, std::size_t, std::uint64_t first, std::uint64_t end) {
                  Line* const lines = domain.lines.data();
                  for (std::uint64_t i = first; i < end; ++i) {
                    lines[i].next = lines + cycle.after(i);
                  }
                });
  Measured measured;
  for (Domain& domain : domains) {
    domain.at = domain.lines.data();
    measured.cpus.push_back(task.team.cpus()[domain.members[0]]);
  }
  const auto found = timed(task.team, task.seconds, [&](std::size_t member) {
    Domain& domain = domains[static_cast<std::size_t>(node[member])];
    if (domain.members[0] != member) return kIdle;
    load_some(domain);
    return static_cast<double>(kQuantum);
  });
  Domain& last = domains.back();
  if (task.fault.is("link")) last.lines[cycle.size() / 2].next = last.lines.data();
  if (task.fault.is("skip")) ++last.loads;
  std::vector<char> right(task.team.size(), 1);
  for_all_lines(task, domains, node, cycle.size(),
                [&](Domain& domain, std::size_t member, std::uint64_t first, std::uint64_t end) {
                  const Line* const lines = domain.lines.data();
                  for (std::uint64_t i = first; i < end; ++i) {
                    if (lines[i].next != lines + cycle.after(i)) right[member] = 0;
                  }
                });
  measured.verified =
      std::all_of(right.begin(), right.end(), [](char one) { return one != 0; }) &&
      std::all_of(domains.begin(), domains.end(), [&](const Domain& domain) {
        return domain.loads > 0 && domain.at == domain.lines.data() + cycle.after(0, domain.loads);
      });
  for (std::size_t slot = 0; slot < found[0].size(); ++slot) {
    double slowest = 0.0;
    for (const Domain& domain : domains) {
      slowest = std::max(slowest, 1.0 / found[domain.members[0]][slot].rate());
    }
    measured.values.push_back(slowest);
  }
  return measured;
}

}  // namespace assay::check
