#include "harness/ranks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <tuple>

#include "harness/job.hpp"

namespace assay {
namespace {

constexpr int kLongestHostName = 256;  // bytes of a host's name, with the terminating zero

// Positions in `seats`, host after host or, if `across`, round-robin over the hosts.
std::vector<std::size_t> sorted(const std::vector<Seat>& seats, bool across) {
  std::vector<std::size_t> places(seats.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const Seat &x = seats[a], &y = seats[b];
    return across ? std::tie(x.local_rank, x.host) < std::tie(y.local_rank, y.host)
                  : std::tie(x.host, x.local_rank) < std::tie(y.host, y.local_rank);
  });
  return places;
}

// Reverses the second seats of all hosts, the fourth ones and so on, of places sorted across hosts.
void turn_back(std::vector<std::size_t>& places, const std::vector<Seat>& seats) {
  for (auto begin = places.begin(); begin != places.end();) {
    const int local = seats[*begin].local_rank;
    const auto end = std::find_if(begin, places.end(),
                                  [&](std::size_t at) { return seats[at].local_rank != local; });
    if (local % 2 == 1) std::reverse(begin, end);
    begin = end;
  }
}

// "0,2,1,3" as numbers; JobError unless each of 0 to count - 1 occurs once.
std::vector<std::size_t> parse_list(const std::string& order, std::size_t count) {
  const std::string wrong =
      "'order' can't be '" + order + "'; valid are: block, cyclic, reversed, folded, " +
      "or a list that names each seat from 0 to " + std::to_string(count - 1) + " once";
  std::vector<std::size_t> list;
  std::vector<bool> seen(count);
  for (std::size_t begin = 0; begin < order.size();) {
    const std::size_t comma = std::min(order.find(',', begin), order.size());
    const std::string word = order.substr(begin, comma - begin);
    begin = comma + 1;
    const bool digits = !word.empty() && word.size() < 10 &&
                        word.find_first_not_of("0123456789") == std::string::npos;
    const std::size_t seat = digits ? std::stoul(word) : count;
    if (seat >= count || seen[seat]) throw JobError(wrong);
    seen[seat] = true;
    list.push_back(seat);
  }
  if (list.size() != count) throw JobError(wrong);
  return list;
}

}  // namespace

std::string host_name() {
  char name[kLongestHostName] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

MPI_Comm ranks_of_node(MPI_Comm world) {
  MPI_Comm sharing = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(sharing, &rank);
  MPI_Comm_size(sharing, &size);
  char mine[kLongestHostName] = {};
  host_name().copy(mine, sizeof mine - 1);
  std::vector<char> names(static_cast<std::size_t>(size) * sizeof mine);
  MPI_Allgather(mine, kLongestHostName, MPI_CHAR, names.data(), kLongestHostName, MPI_CHAR,
                sharing);
  int first = 0;
  while (std::memcmp(&names[static_cast<std::size_t>(first) * sizeof mine], mine, sizeof mine)) {
    ++first;
  }
  int last = first;
  MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, sharing);
  if (last == 0) return sharing;  // all have one name
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split(sharing, first, rank, &node);
  MPI_Comm_free(&sharing);
  return node;
}

std::vector<Seat> find_seats(MPI_Comm world, MPI_Comm node) {
  int rank = 0;
  int size = 1;
  int mine[] = {0, 0};  // the first rank of my node, my rank within it
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  MPI_Comm_rank(node, &mine[1]);
  mine[0] = rank;
  MPI_Bcast(&mine[0], 1, MPI_INT, 0, node);
  std::vector<int> all(static_cast<std::size_t>(size) * 2);
  MPI_Allgather(mine, 2, MPI_INT, all.data(), 2, MPI_INT, world);
  std::map<int, int> hosts;  // first rank → the host's number
  for (std::size_t i = 0; i < all.size(); i += 2) hosts.emplace(all[i], 0);
  int number = 0;
  for (auto& [first, host] : hosts) host = number++;
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < all.size(); i += 2) seats.push_back({hosts[all[i]], all[i + 1]});
  return seats;
}

std::vector<int> nodes_of_ranks(MPI_Comm world, MPI_Comm node) {
  int first = 0;
  int size = 1;
  MPI_Comm_rank(world, &first);
  MPI_Comm_size(world, &size);
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node);
  std::vector<int> nodes(static_cast<std::size_t>(size));
  MPI_Allgather(&first, 1, MPI_INT, nodes.data(), 1, MPI_INT, world);
  std::map<int, int> index;
  for (const int each : nodes) index.emplace(each, 0);
  int next = 0;
  for (auto& [rank, number] : index) number = next++;
  for (int& each : nodes) each = index[each];
  return nodes;
}

std::vector<int> number_ranks(const std::string& order, const std::vector<Seat>& seats) {
  std::vector<std::size_t> places = sorted(seats, order == "cyclic" || order == "folded");
  if (order == "reversed") std::reverse(places.begin(), places.end());
  if (order == "folded") turn_back(places, seats);
  if (order != "block" && order != "cyclic" && order != "reversed" && order != "folded") {
    const std::vector<std::size_t> block = places;
    const std::vector<std::size_t> list = parse_list(order, seats.size());
    for (std::size_t r = 0; r < list.size(); ++r) places[r] = block[list[r]];
  }
  std::vector<int> numbers(seats.size());
  for (std::size_t r = 0; r < places.size(); ++r) numbers[places[r]] = static_cast<int>(r);
  return numbers;
}

}  // namespace assay
