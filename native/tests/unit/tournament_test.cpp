// Every pair meets once, no member twice in a round.
#include "network/tournament.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "tests/unit/check.hpp"

namespace assay {
namespace {

std::vector<int> members_from(int first, int count) {
  std::vector<int> members;
  for (int i = 0; i < count; ++i) members.push_back(first + 3 * i);
  return members;
}

TEST(every_pair_meets_once_and_nobody_twice_in_a_round) {
  for (int count = 2; count <= 17; ++count) {
    const std::vector<int> members = members_from(5, count);
    const auto rounds = tournament(members);
    CHECK_EQUAL(rounds.size(), static_cast<std::size_t>(count % 2 == 0 ? count - 1 : count));
    std::set<PairOfRanks> met;
    std::size_t meetings = 0;
    for (const Round& round : rounds) {
      CHECK_EQUAL(round.size(), static_cast<std::size_t>(count / 2));
      std::set<int> busy;
      for (const auto& [one, other] : round) {
        CHECK(busy.insert(one).second);
        CHECK(busy.insert(other).second);
        met.insert(std::minmax(one, other));
        ++meetings;
      }
    }
    CHECK_EQUAL(meetings, static_cast<std::size_t>(count * (count - 1) / 2));
    CHECK_EQUAL(met.size(), meetings);
    for (const auto& [one, other] : met) {
      CHECK(one != other);
      CHECK(std::find(members.begin(), members.end(), one) != members.end());
      CHECK(std::find(members.begin(), members.end(), other) != members.end());
    }
  }
}

TEST(nobody_meets_alone) {
  CHECK(tournament({}).empty());
  CHECK(tournament({4}).empty());
}

}  // namespace
}  // namespace assay
