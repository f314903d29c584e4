// The updates of HPC Challenge's RandomAccess, on all cores at one time.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "check/array.hpp"
#include "check/component.hpp"
#include "check/slots.hpp"
#include "memory/random_stream.hpp"

namespace assay::check {
namespace {

// As for the triad.
constexpr std::size_t kTimesCaches = 4;
constexpr std::size_t kMostPerCore = std::size_t{256} << 20;
constexpr std::size_t kQuantum = 4096;  // updates per look at the clock: about 0.1 ms
// Successive elements of the stream that belong to one member: far more than it takes.
constexpr std::uint64_t kShare = std::uint64_t{1} << 48;

// A member's updates: `quanta` of a repetition, `at` the next element of the stream.
struct alignas(128) Updates {
  std::uint64_t* table = nullptr;
  std::uint64_t start = 1;
  std::uint64_t at = 1;
  std::size_t quanta = 0;
};

void update_some(Updates& updates, int shift) {
  std::uint64_t a = updates.at;
  std::uint64_t* const table = updates.table;
  for (std::size_t k = 0; k < kQuantum; ++k) {
    table[a >> shift] ^= a;
    a = random_access::next(a);
  }
  updates.at = a;
}

}  // namespace

// Each core updates the table of the core half of the cores further on. It was touched first by
// its owner, so that it lies on another package or NUMA node if there is one: the links between
// packages are measured here, and in no other component.
//
// Equal updates cancel. Each repetition that takes its time is followed by one that makes the same
// updates again, so that the tables must then be as they were.
Measured measure_random(const Task& task) {
  const std::size_t members = task.team.size();
  const std::size_t wanted = std::min(kTimesCaches * task.machine.caches / members, kMostPerCore);
  const std::size_t elements =
      std::bit_ceil(std::max<std::size_t>(wanted / sizeof(std::uint64_t), 2));
  const int shift = random_access::shift_of(elements);
  require_memory(static_cast<double>(members * elements * sizeof(std::uint64_t)), "the tables");
  Array<std::uint64_t> tables(members * elements);
  task.team.run([&](std::size_t member) {
    std::uint64_t* const own = tables.data() + member * elements;
    for (std::size_t i = 0; i < elements; ++i) own[i] = i;
  });

  const std::size_t pairs = std::max<std::size_t>(slots_in(task.seconds) / 2, 1);
  const auto length = static_cast<Ticks>(1e9 * task.seconds / static_cast<double>(2 * pairs));
  const auto warm_up = std::min(static_cast<Ticks>(1e9 * kWarmUp / 2), length);
  std::vector<Updates> updates(members);
  std::vector<Account> accounts(members);
  for (Account& each : accounts) each.done.resize(2 * pairs);
  Gate gate(members);
  task.team.run([&](std::size_t member) {
    Updates& mine = updates[member];
    mine.table = tables.data() + (member + members / 2) % members * elements;
    for (std::size_t pair = 0; pair <= pairs; ++pair) {
      const Ticks most = pair == 0 ? warm_up : length;
      mine.start = random_access::element(member * kShare + pair * (kShare >> 16));
      Done done[2];
      std::size_t quanta = 0;
      for (int again = 0; again < 2; ++again) {
        mine.at = mine.start;
        gate.pass();
        const Ticks start = ticks();
        std::size_t made = 0;
        do {
          update_some(mine, shift);
          ++made;
        } while (again == 0 ? ticks() - start < most : made < quanta);
        done[again] = {static_cast<double>(made * kQuantum), seconds(ticks() - start)};
        quanta = made;
      }
      if (pair == 0) continue;
      accounts[member].done[2 * pair - 2] = done[0];
      accounts[member].done[2 * pair - 1] = done[1];
    }
  });
  if (task.fault.is("value")) tables[elements / 2] ^= 1;
  if (task.fault.is("skip")) update_some(updates.back(), shift);
  std::vector<char> right(members, 1);
  task.team.run([&](std::size_t member) {
    const std::uint64_t* const own = tables.data() + member * elements;
    for (std::size_t i = 0; i < elements; ++i) {
      if (own[i] != i) right[member] = 0;
    }
  });
  std::vector<std::vector<Done>> found;
  for (Account& each : accounts) found.push_back(std::move(each.done));
  const bool verified = std::all_of(right.begin(), right.end(), [](char one) { return one != 0; });
  return {rates_together(found), task.team.cpus(), verified};
}

}  // namespace assay::check
