#include "network/congestion/victims.hpp"

#include <numeric>

#include "harness/clock.hpp"
#include "network/pair.hpp"

namespace assay::congestion {
namespace {

// Tags of a pair's last round trip of a block, and of the messages of a halo.
constexpr int kLastTrip = 4;
constexpr int kToRight = 5;
constexpr int kToLeft = 6;

// Two neighbouring places are a pair; with an odd number of places the last has no partner.
int partner_of(const Shape& s) {
  const int partner = s.rank ^ 1;
  return partner < s.size ? partner : MPI_PROC_NULL;
}
bool is_first(const Shape& s) { return s.rank % 2 == 0; }
int right_of(const Shape& s) { return (s.rank + 1) % s.size; }
int left_of(const Shape& s) { return (s.rank + s.size - 1) % s.size; }
int count_of(const Shape& s) { return static_cast<int>(s.bytes); }

std::size_t to_partner(const Shape& s) { return partner_of(s) == MPI_PROC_NULL ? 0 : s.bytes; }
Origin from_partner(const Shape& s, std::size_t i) { return {partner_of(s), i}; }

// A round trip; the first sends with that tag, and the second answers with the tag that it got.
int trip(const Shape& s, const Buffers& b, int& tag, MPI_Comm comm) {
  const int partner = partner_of(s);
  if (is_first(s)) {
    return MPI_Send(b.out, count_of(s), MPI_BYTE, partner, tag, comm) |
           MPI_Recv(b.in, count_of(s), MPI_BYTE, partner, tag, comm, MPI_STATUS_IGNORE);
  }
  MPI_Status status;
  const int failed = MPI_Recv(b.in, count_of(s), MPI_BYTE, partner, MPI_ANY_TAG, comm, &status);
  tag = status.MPI_TAG;
  return failed | MPI_Send(b.out, count_of(s), MPI_BYTE, partner, tag, comm);
}

int pingpong(const Shape& s, const Buffers& b, MPI_Comm comm) {
  int tag = kMessage;
  return partner_of(s) == MPI_PROC_NULL ? MPI_SUCCESS : trip(s, b, tag, comm);
}

// The block from the left, then the block from the right. A rank's blocks differ: its first goes
// to the left.
std::size_t two_blocks(const Shape& s) { return 2 * s.bytes; }
Origin from_neighbours(const Shape& s, std::size_t i) {
  if (i < s.bytes) return {left_of(s), s.bytes + i};
  return {right_of(s), i - s.bytes};
}

int halo(const Shape& s, const Buffers& b, MPI_Comm comm) {
  const int size = count_of(s);
  MPI_Request requests[4];
  int failed = MPI_Irecv(b.in, size, MPI_BYTE, left_of(s), kToRight, comm, &requests[0]);
  failed |= MPI_Irecv(b.in + s.bytes, size, MPI_BYTE, right_of(s), kToLeft, comm, &requests[1]);
  failed |= MPI_Isend(b.out, size, MPI_BYTE, left_of(s), kToLeft, comm, &requests[2]);
  failed |= MPI_Isend(b.out + s.bytes, size, MPI_BYTE, right_of(s), kToRight, comm, &requests[3]);
  return failed | MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

const Collective kPingpong{.name = "pingpong",
                           .rooted = false,
                           .reduces = false,
                           .varies = false,
                           .gives = to_partner,
                           .gets = to_partner,
                           .origin = from_partner,
                           .call = pingpong};
const Collective kHalo{.name = "halo",
                       .rooted = false,
                       .reduces = false,
                       .varies = false,
                       .gives = two_blocks,
                       .gets = two_blocks,
                       .origin = from_neighbours,
                       .call = halo};

const Collective& operation(const std::string& name) {
  if (name == kPingpong.name) return kPingpong;
  if (name == kHalo.name) return kHalo;
  return find_collective(name);
}

// Whether the ranks of a slice do it among themselves, all slices at the same time.
bool is_in_slices(const Collective& op) { return &op == &kPingpong || &op == &kHalo; }

Shape shape_of(const Collective& op, std::size_t bytes, const Seat& seat, int places, int slices) {
  Shape shape;
  shape.rank = is_in_slices(op) ? seat.place : seat.slice * places + seat.place;
  shape.size = is_in_slices(op) ? places : slices * places;
  shape.bytes = bytes;
  return shape;
}

}  // namespace

std::vector<std::string> victim_names() { return {"pingpong", "allreduce", "alltoall", "halo"}; }

std::int64_t usual_bytes(const std::string& victim) {
  if (victim == "alltoall") return 1024;
  return victim == "halo" ? 64 << 10 : 8;
}

Victims::Victims(const std::string& name, std::size_t bytes, const Seat& seat, int places,
                 int slices)
    : op_(operation(name)),
      shape_(shape_of(op_, bytes, seat, places, slices)),
      contents_(op_, shape_) {}

double Victims::memory(const std::string& name, std::size_t bytes, int places, int slices) {
  const Collective& op = operation(name);
  const Shape shape = shape_of(op, bytes, {}, places, slices);
  return static_cast<double>(op.gives(shape) + op.gets(shape));
}

void Victims::operate(const Team& team, std::size_t bytes) const {
  Shape shape = shape_;
  shape.bytes = bytes;
  check_mpi(op_.call(shape, contents_.buffers(), is_in_slices(op_) ? team.slice() : team.all()));
}

std::vector<double> Victims::block(const Team& team, std::int64_t count, double longest) const {
  operate(team, shape_.bytes);
  return &op_ == &kPingpong ? round_trips(team, count, longest) : together(team, count, longest);
}

std::vector<double> Victims::round_trips(const Team& team, std::int64_t count,
                                         double longest) const {
  std::vector<double> times;
  if (partner_of(shape_) == MPI_PROC_NULL) return times;
  const Ticks begin = ticks();
  for (int tag = kMessage; tag != kLastTrip;) {
    const Ticks start = ticks();
    const auto done = static_cast<std::int64_t>(times.size());
    if (is_first(shape_) && (done + 1 == count || seconds(start - begin) > longest)) {
      tag = kLastTrip;
    }
    check_mpi(trip(shape_, contents_.buffers(), tag, team.slice()));
    if (is_first(shape_)) times.push_back(0.5 * seconds(ticks() - start));
  }
  return times;
}

std::vector<double> Victims::together(const Team& team, std::int64_t count, double longest) const {
  std::vector<double> times;
  const Ticks begin = ticks();
  for (std::int64_t i = 0; i < count; ++i) {
    // Also the barrier before the operation.
    int late = i > 0 && seconds(ticks() - begin) > longest ? 1 : 0;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT, MPI_MAX, team.all()));
    if (late != 0) break;
    const Ticks start = ticks();
    operate(team, shape_.bytes);
    times.push_back(seconds(ticks() - start));
  }
  return times;
}

std::vector<double> Victims::that_count(const Team& team, const std::vector<double>& times) const {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(team.all(), &rank);
  MPI_Comm_size(team.all(), &size);
  const int mine = static_cast<int>(times.size());
  if (&op_ != &kPingpong) {
    std::vector<double> slowest(rank == 0 ? times.size() : 0);
    check_mpi(MPI_Reduce(times.data(), slowest.data(), mine, MPI_DOUBLE, MPI_MAX, 0, team.all()));
    return slowest;
  }
  std::vector<int> counts(static_cast<std::size_t>(size));
  std::vector<int> places(static_cast<std::size_t>(size));
  check_mpi(MPI_Gather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, team.all()));
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::vector<double> all(rank == 0 ? static_cast<std::size_t>(places.back() + counts.back()) : 0);
  check_mpi(MPI_Gatherv(times.data(), mine, MPI_DOUBLE, all.data(), counts.data(), places.data(),
                        MPI_DOUBLE, 0, team.all()));
  return all;
}

}  // namespace assay::congestion
