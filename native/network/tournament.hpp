// Pairs round by round: every pair once, and no member twice in a round.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace assay {

using PairOfRanks = std::pair<int, int>;
using Round = std::vector<PairOfRanks>;

// The circle method (Kirkman): one member stays, the others move by one place each round. With an
// odd number of members one is left out in each round. Each round has a different set of pairs, so
// that any set of rounds is a balanced part of all pairs: every member has the same number of them,
// except for byes.
inline std::vector<Round> tournament(const std::vector<int>& members) {
  const std::size_t seats = members.size() + members.size() % 2;
  std::vector<Round> rounds;
  if (members.size() < 2) return rounds;
  const std::size_t circle = seats - 1;
  for (std::size_t turn = 0; turn < circle; ++turn) {
    Round round;
    const auto meet = [&](std::size_t one, std::size_t other) {
      if (one < members.size() && other < members.size()) {
        round.emplace_back(members[one], members[other]);
      }
    };
    meet(turn, circle);
    for (std::size_t k = 1; k < seats / 2; ++k) {
      meet((turn + k) % circle, (turn + circle - k) % circle);
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace assay
