#include "network/pairing.hpp"

#include <initializer_list>

#include "tests/unit/check.hpp"

using namespace assay;

namespace {

std::string partners(const std::vector<int>& nodes) {
  std::string text;
  for (const auto& [from, to] : senders_and_receivers(nodes)) {
    text += std::to_string(from) + ">" + std::to_string(to) + " ";
  }
  return text;
}

}  // namespace

TEST(pairs_are_mutual_and_leave_nobody_out) {
  for (int size = 2; size <= 12; size += 2) {
    for (int rank = 0; rank < size; ++rank) {
      for (const bool halves : {false, true}) {
        const auto partner = [&](int of) {
          return halves ? partner_in_halves(of, size) : partner_of_neighbours(of);
        };
        CHECK(partner(rank) >= 0 && partner(rank) < size && partner(rank) != rank);
        CHECK_EQUAL(partner(partner(rank)), rank);
      }
    }
  }
  CHECK_EQUAL(partner_in_halves(1, 8), 5);
  CHECK_EQUAL(partner_of_neighbours(3), 2);
}

TEST(one_node_sends_from_its_first_half_to_its_second) {
  CHECK_EQUAL(partners({0, 0}), "0>1 ");
  CHECK_EQUAL(partners({0, 0, 0, 0}), "0>2 1>3 ");
  CHECK_EQUAL(partners({0, 0, 0, 0, 0}), "0>3 1>4 ");
  CHECK_EQUAL(partners({0}), "");
}

TEST(senders_of_one_node_go_to_other_nodes_in_turn) {
  // As in Luecke et al. (2005), 4.3: two ranks per node, node 0 to nodes 1 and 2.
  CHECK_EQUAL(partners({0, 0, 2, 2, 4, 4}), "0>2 1>4 ");
  CHECK_EQUAL(partners({0, 0, 0, 0, 4, 4, 4, 4}), "0>4 1>5 2>6 3>7 ");
  CHECK_EQUAL(partners({0, 0, 0, 3, 3, 3, 6, 6, 6}), "0>3 1>6 2>4 ");
  // Cyclic: node of rank r is r mod 3.
  CHECK_EQUAL(partners({0, 1, 2, 0, 1, 2}), "0>1 3>2 ");
  // Nodes of different size: the senders, or the receivers, run out.
  CHECK_EQUAL(partners({0, 1, 1, 1}), "0>1 ");
  CHECK_EQUAL(partners({0, 0, 0, 3, 4}), "0>3 1>4 ");
}
