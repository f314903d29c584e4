// Which pairs of CPUs memory.core_to_core measures: whole rounds, so that each CPU has equally
// many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "network/ranks.hpp"
#include "network/tournament.hpp"

namespace assay {

constexpr std::uint64_t kCoreOrderSeed = 1;  // of the CPUs, and the next one of the rounds

// As many rounds as `most` pairs allow, at least one; a different part of all in each launch. The
// lesser CPU of a pair comes first.
inline std::vector<Round> core_rounds(int cpus, std::size_t most, std::uint64_t launch) {
  const std::vector<int> places = shuffled(all_ranks(cpus), kCoreOrderSeed);
  std::vector<int> order = round_order(rounds_of(places.size()), kCoreOrderSeed + 1, launch);
  const std::size_t fitting = most / (places.size() / 2);
  if (order.size() > fitting) order.resize(std::max<std::size_t>(fitting, 1));
  std::vector<Round> rounds;
  for (const int turn : order) {
    Round& round = rounds.emplace_back(tournament_round(places, static_cast<std::size_t>(turn)));
    for (auto& [one, other] : round) {
      if (one > other) std::swap(one, other);
    }
  }
  return rounds;
}

// Keeps the first rounds: those that `measure` has measured before another one, at the mean of
// them, would take longer than that by `now`, in seconds. The first is kept in any case.
template <typename Measure, typename Now>
void keep_within(double longest, std::vector<Round>& rounds, Measure measure, Now now) {
  const double begin = now();
  std::size_t done = 0;
  const auto fits = [&] {
    const double taken = now() - begin;
    return done == 0 || taken + taken / static_cast<double>(done) <= longest;
  };
  while (done < rounds.size() && fits()) measure(rounds[done++]);
  rounds.resize(done);
}

}  // namespace assay
