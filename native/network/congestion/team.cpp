#include "network/congestion/team.hpp"

#include <algorithm>
#include <cmath>

#include "harness/values.hpp"
#include "network/ranks.hpp"

namespace assay::congestion {

Division divide(int nodes, double share, std::uint64_t draw) {
  const std::vector<int> drawn = shuffled(all_ranks(nodes), draw);
  const auto half = drawn.begin() + nodes / 2;
  const auto active = std::floor(share * static_cast<double>(drawn.end() - half) + 0.5);
  return {{drawn.begin(), half}, {half, half + static_cast<std::ptrdiff_t>(active)}};
}

Seat seat_of(const Division& division, const std::vector<int>& nodes, int rank) {
  const int node = nodes[static_cast<std::size_t>(rank)];
  const auto ranks_of = [&](int which) { return std::count(nodes.begin(), nodes.end(), which); };
  const auto here = ranks_of(node);
  if (here * (*std::max_element(nodes.begin(), nodes.end()) + 1) !=
      static_cast<std::ptrdiff_t>(nodes.size())) {
    throw KernelError("network.congestion needs the same number of ranks on each node");
  }
  Seat seat;
  seat.slice = static_cast<int>(std::count(nodes.begin(), nodes.begin() + rank, node));
  const auto look_in = [&](const std::vector<int>& members, Role role) {
    const auto found = std::find(members.begin(), members.end(), node);
    if (found == members.end()) return;
    seat.role = role;
    seat.place = static_cast<int>(found - members.begin());
  };
  look_in(division.victims, Role::kVictim);
  look_in(division.aggressors, Role::kAggressor);
  return seat;
}

Team::Team(MPI_Comm comm, const Seat& seat) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  // Idle ranks get communicators too, which stay unused.
  MPI_Comm_split(comm, static_cast<int>(seat.role), seat.slice * size + seat.place, &all_);
  MPI_Comm_split(all_, seat.slice, seat.place, &slice_);
}

Team::~Team() {
  MPI_Comm_free(&slice_);
  MPI_Comm_free(&all_);
}

}  // namespace assay::congestion
