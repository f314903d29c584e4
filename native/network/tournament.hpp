// Pairs round by round: every pair once, and no member twice in a round.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "network/ranks.hpp"

namespace assay {

using PairOfRanks = std::pair<int, int>;
using Round = std::vector<PairOfRanks>;

// The number of rounds of the circle method; with an odd number of members, one is left out in each
// round.
inline std::size_t rounds_of(std::size_t members) {
  return members < 2 ? 0 : members + members % 2 - 1;
}

// One round of the circle method (Kirkman): one member stays, the others move by one place each
// round. Each round has a different set of pairs, so that any set of rounds is a balanced part of
// all pairs: every member has the same number of them, except for byes. Consecutive rounds are
// not a random part: a member's partners are then neighbours on the circle.
inline Round tournament_round(const std::vector<int>& members, std::size_t turn) {
  const std::size_t circle = rounds_of(members.size());
  Round round;
  const auto meet = [&](std::size_t one, std::size_t other) {
    if (one < members.size() && other < members.size()) {
      round.emplace_back(members[one], members[other]);
    }
  };
  meet(turn, circle);
  for (std::size_t k = 1; k < (circle + 1) / 2; ++k) {
    meet((turn + k) % circle, (turn + circle - k) % circle);
  }
  return round;
}

// Rounds in a random order, the same for every launch, so that the first rounds are a random part
// of all pairs. Launches begin with different rounds, so that if only some of the rounds fit, they
// measure different pairs. Multiples of the golden ratio spread the beginnings evenly over all
// rounds, however many launches there are.
inline std::vector<int> round_order(std::size_t rounds, std::uint64_t seed, std::uint64_t launch) {
  constexpr double kGolden = 0.6180339887498949;
  std::vector<int> order = shuffled(all_ranks(static_cast<int>(rounds)), seed);
  double whole = 0.0;
  const double place = std::modf(kGolden * static_cast<double>(launch), &whole);
  const auto first = static_cast<std::ptrdiff_t>(place * static_cast<double>(rounds));
  std::rotate(order.begin(), order.begin() + first, order.end());
  return order;
}

}  // namespace assay
