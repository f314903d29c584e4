// STREAM's triad on all cores, each on its own part of the arrays.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "check/array.hpp"
#include "check/component.hpp"
#include "check/slots.hpp"
#include "memory/stream_loops.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay::check {
namespace {

// STREAM's rule is at least four times the last-level caches. The size depends only on caches and
// cores, not on memory: rates of different sizes could not be compared. The limit per core is for
// a few cores with the cache of a whole package.
constexpr std::size_t kTimesCaches = 4;
constexpr std::size_t kMostPerCore = std::size_t{128} << 20;
// Elements per look at the clock: 0.1 ms and less at 10 GB/s of a core.
constexpr std::size_t kBlock = std::size_t{1} << 15;
constexpr double kBytesPerElement = 3.0 * sizeof(double);

// The members' parts follow one another.
struct Part {
  std::size_t first = 0;
  std::size_t blocks = 0;
  std::size_t next = 0;     // block
  std::int64_t passes = 0;  // whole ones
};

const stream::Operation& triad() { return stream::operations()[3]; }

bool is_right(const double* to, const Part& part) {
  // As for the kernel memory.stream: result and expected value round once per flop.
  const double tolerance = (2 * triad().flops + 1) * std::numeric_limits<double>::epsilon() / 2;
  // Without a whole pass the blocks from the next one on were never written.
  const std::size_t written = part.passes == 0 ? part.next : part.blocks;
  if (written == 0) return false;
  for (std::size_t block = 0; block < written; ++block) {
    const std::int64_t pass = block < part.next ? part.passes : part.passes - 1;
    const std::size_t first = part.first + block * kBlock;
    const auto errors = triad().check(to + first, first, kBlock, stream::scalar_of_pass(pass));
    if (errors.not_numbers > 0 || !(errors.greatest <= tolerance)) return false;
  }
  return true;
}

}  // namespace

Measured measure_stream(const Task& task) {
  const std::size_t members = task.team.size();
  const std::size_t wanted =
      std::min(kTimesCaches * task.machine.caches / members, kMostPerCore) / sizeof(double);
  const std::size_t blocks = (wanted + kBlock - 1) / kBlock;
  const std::size_t elements = members * blocks * kBlock;
  require_memory(kBytesPerElement * static_cast<double>(elements), "the arrays of the triad");
  Array<double> to(elements);
  Array<double> x(elements);
  Array<double> y(elements);
  std::vector<Part> parts(members);
  task.team.run([&](std::size_t member) {
    Part& part = parts[member];
    part = {member * blocks * kBlock, blocks, 0, 0};
    const std::size_t end = part.first + blocks * kBlock;
    for (std::size_t i = part.first; i < end; ++i) x[i] = stream::x_value(i);
    for (std::size_t i = part.first; i < end; ++i) y[i] = stream::y_value(i);
    std::fill(&to[part.first], &to[part.first] + blocks * kBlock,
              std::numeric_limits<double>::quiet_NaN());
  });
  // Stores past the caches where the processor has them: never chosen by a trial, which could
  // choose otherwise on another node.
  const stream::Pass pass = triad().variants.back().pass;
  const auto found = timed(task.team, task.seconds, [&](std::size_t member) {
    Part& part = parts[member];
    const std::size_t at = part.first + part.next * kBlock;
    pass(&to[at], &x[at], &y[at], stream::scalar_of_pass(part.passes), kBlock);
    if (++part.next == part.blocks) {
      part.next = 0;
      ++part.passes;
    }
    return kBytesPerElement * kBlock;
  });
  double& damaged = to[elements / 2];
  if (task.fault.is("value")) damaged *= 1.0 + 1e-14;
  if (task.fault.is("nan")) damaged = std::numeric_limits<double>::quiet_NaN();
  if (task.fault.is("skip")) ++parts.back().passes;
  std::vector<char> right(members);
  task.team.run([&](std::size_t member) { right[member] = is_right(to.data(), parts[member]); });
  const bool verified = std::all_of(right.begin(), right.end(), [](char one) { return one != 0; });
  return {rates_together(found), task.team.cpus(), verified};
}

}  // namespace assay::check
