// Timed repetitions on all members of a team.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <utility>
#include <vector>

#include "check/team.hpp"
#include "harness/clock.hpp"

namespace assay::check {

// Length of a repetition, s: the period of the kernel's CPU quotas (cpu.max), so that a quota that
// holds the node back does so in every repetition.
constexpr double kSlot = 0.1;
// Before the first repetition, s: the clock rate settles.
constexpr double kWarmUp = 0.03;

inline std::size_t slots_in(double seconds) {
  return static_cast<std::size_t>(std::max(1.0, std::floor(seconds / kSlot + 1e-6)));
}

// What a member did in a repetition.
struct Done {
  double operations = 0.0;
  double seconds = 0.0;
  double rate() const { return operations / seconds; }
};

// A line of its own for each member, two because prefetchers fetch in pairs.
struct alignas(128) Account {
  std::vector<Done> done;
};

// Sleeps, so that waiting loads nothing.
inline void pause_for(Ticks span) {
  const timespec time{static_cast<time_t>(span / 1'000'000'000), span % 1'000'000'000};
  nanosleep(&time, nullptr);
}

// What a quantum returns on a member that takes no part: it waits for the others at the gate.
constexpr double kIdle = -1.0;

// Calls quantum(member) on all members, again and again: a warm-up, then `seconds` in equal
// repetitions, which all members begin together. A quantum takes much less time than a repetition
// and returns its number of operations. Each member's time is its own, to the end of its last
// quantum. Returns what each member did in each repetition, the warm-up left out.
template <class Quantum>
std::vector<std::vector<Done>> timed(Team& team, double seconds_of_all, const Quantum& quantum) {
  const std::size_t slots = slots_in(seconds_of_all);
  const auto length = static_cast<Ticks>(1e9 * seconds_of_all / static_cast<double>(slots));
  const auto warm_up = std::min(static_cast<Ticks>(1e9 * kWarmUp), length);
  std::vector<Account> accounts(team.size());
  for (Account& each : accounts) each.done.resize(slots + 1);
  Gate gate(team.size());
  team.run([&](std::size_t member) {
    for (std::size_t slot = 0; slot <= slots; ++slot) {
      const Ticks most = slot == 0 ? warm_up : length;
      double operations = 0.0;
      gate.pass();
      const Ticks start = ticks();
      Ticks passed = 0;
      do {
        const double more = quantum(member);
        passed = ticks() - start;
        if (more < 0.0) {
          pause_for(most);
          break;
        }
        operations += more;
      } while (passed < most);
      accounts[member].done[slot] = {operations, seconds(passed)};
    }
  });
  std::vector<std::vector<Done>> found;
  for (Account& each : accounts) {
    each.done.erase(each.done.begin());
    found.push_back(std::move(each.done));
  }
  return found;
}

// The sum of the members' rates in each repetition.
inline std::vector<double> rates_together(const std::vector<std::vector<Done>>& found) {
  std::vector<double> rates(found.at(0).size(), 0.0);
  for (const auto& member : found) {
    for (std::size_t slot = 0; slot < rates.size(); ++slot) rates[slot] += member[slot].rate();
  }
  return rates;
}

}  // namespace assay::check
