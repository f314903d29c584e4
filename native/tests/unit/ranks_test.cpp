#include "harness/ranks.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "harness/job.hpp"
#include "tests/unit/check.hpp"

using namespace assay;

namespace {

// Hosts with these numbers of ranks, seated block by block.
std::vector<Seat> hosts(const std::vector<int>& ranks) {
  std::vector<Seat> seats;
  for (int host = 0; host < static_cast<int>(ranks.size()); ++host) {
    for (int local = 0; local < ranks[static_cast<std::size_t>(host)]; ++local) {
      seats.push_back({host, local});
    }
  }
  return seats;
}

std::string numbers(const std::string& order, const std::vector<Seat>& seats) {
  std::string text;
  for (const int number : number_ranks(order, seats)) text += std::to_string(number) + " ";
  return text;
}

}  // namespace

TEST(orders_number_the_seats_of_two_hosts) {
  const auto seats = hosts({2, 2});
  CHECK_EQUAL(numbers("block", seats), "0 1 2 3 ");
  CHECK_EQUAL(numbers("cyclic", seats), "0 2 1 3 ");
  CHECK_EQUAL(numbers("reversed", seats), "3 2 1 0 ");
  CHECK_EQUAL(numbers("0,2,1,3", seats), "0 2 1 3 ");
  // Rank 0 takes seat 2, rank 1 seat 0, rank 2 seat 3, rank 3 seat 1.
  CHECK_EQUAL(numbers("2,0,3,1", seats), "1 3 0 2 ");
}

TEST(hosts_may_hold_unequal_numbers_of_ranks) {
  const auto seats = hosts({3, 1, 2});
  CHECK_EQUAL(numbers("block", seats), "0 1 2 3 4 5 ");
  CHECK_EQUAL(numbers("cyclic", seats), "0 3 5 1 2 4 ");
  CHECK_EQUAL(numbers("reversed", seats), "5 4 3 2 1 0 ");
  CHECK_EQUAL(numbers("folded", seats), "0 4 5 1 2 3 ");
}

TEST(orders_depend_on_seats_and_not_on_how_the_launcher_numbered_them) {
  // A launcher that seats cyclically: its ranks 0 and 2 are on the first host.
  const std::vector<Seat> seats = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
  CHECK_EQUAL(numbers("block", seats), "0 2 1 3 ");
  CHECK_EQUAL(numbers("cyclic", seats), "0 1 2 3 ");
  CHECK_EQUAL(numbers("reversed", seats), "3 1 2 0 ");
  CHECK_EQUAL(numbers("folded", seats), "0 1 3 2 ");
  CHECK_EQUAL(numbers("3,2,1,0", seats), "3 1 2 0 ");
}

TEST(a_list_seats_every_rank_where_it_says) {
  std::mt19937 random(5);
  std::vector<Seat> seats = hosts({3, 4, 1, 5});
  std::vector<int> list(seats.size());
  std::iota(list.begin(), list.end(), 0);
  for (int trial = 0; trial < 20; ++trial) {
    std::shuffle(list.begin(), list.end(), random);
    std::string order;
    for (const int seat : list) order += (order.empty() ? "" : ",") + std::to_string(seat);
    const auto ranks = number_ranks(order, seats);
    for (std::size_t r = 0; r < list.size(); ++r) {
      CHECK_EQUAL(ranks[static_cast<std::size_t>(list[r])], static_cast<int>(r));
    }
  }
}

TEST(what_is_no_order_is_refused) {
  const auto seats = hosts({2, 2});
  for (const char* order : {"", "blok", "0,1,2", "0,1,2,3,4", "0,1,1,3", "0,1,2,4", "0,-1,2,3",
                            "0,1,2,", "0,,1,2", "0 1 2 3", "0,1,2,99999999999999999999"}) {
    CHECK_THROWS(number_ranks(order, seats), JobError, "each seat from 0 to 3 once");
  }
}

TEST(one_rank_knows_every_order) {
  for (const char* order : {"block", "cyclic", "reversed", "0"}) {
    CHECK_EQUAL(numbers(order, hosts({1})), "0 ");
  }
}
