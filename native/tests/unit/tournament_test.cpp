// Every pair meets once, no member twice in a round.
#include "network/tournament.hpp"

#include <algorithm>
#include <cstdlib>
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
    const std::size_t rounds = rounds_of(members.size());
    CHECK_EQUAL(rounds, static_cast<std::size_t>(count % 2 == 0 ? count - 1 : count));
    std::set<PairOfRanks> met;
    std::size_t meetings = 0;
    for (std::size_t turn = 0; turn < rounds; ++turn) {
      const Round round = tournament_round(members, turn);
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

// Few rounds in the order of the circle leave each member with neighbours on it: of 101 members 10
// consecutive rounds give each partners from an arc of 19 places. In a random order they come from
// everywhere.
TEST(the_first_rounds_are_a_random_part) {
  const std::vector<int> order = round_order(101, 2, 5);
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == all_ranks(101));
  int near = 0;
  for (std::size_t k = 1; k < order.size(); ++k) {
    near += std::abs(order[k] - order[k - 1]) <= 10 ? 1 : 0;
  }
  CHECK(near < 40);  // 20 of 100 are expected
}

TEST(launches_begin_with_rounds_far_apart) {
  const std::vector<int> same = round_order(1000, 2, 0);
  std::vector<std::ptrdiff_t> begins;
  for (std::uint64_t launch = 0; launch < 6; ++launch) {
    const std::vector<int> order = round_order(1000, 2, launch);
    begins.push_back(std::find(same.begin(), same.end(), order[0]) - same.begin());
  }
  std::sort(begins.begin(), begins.end());
  for (std::size_t k = 1; k < begins.size(); ++k) CHECK(begins[k] - begins[k - 1] > 80);
}

TEST(nobody_meets_alone) {
  CHECK_EQUAL(rounds_of(0), std::size_t{0});
  CHECK_EQUAL(rounds_of(1), std::size_t{0});
}

}  // namespace
}  // namespace assay
