#include "hpcg/halo.hpp"

#include <cstddef>

namespace assay::hpcg {

namespace {

constexpr int kHaloTag = 0;

std::array<int, 3> direction_of(int code) { return {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1}; }

}  // namespace

Halo::Halo(const Box& box, MPI_Comm comm) : comm_(comm), box_(box), of_direction_(27, -1) {
  for (int code = 0; code < 27; ++code) {
    const auto direction = direction_of(code);
    const int rank = box.neighbour(direction);
    if (code == 13 || rank < 0) continue;
    Neighbour there;
    there.rank = rank;
    Triple from{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const int d = direction[axis];
      there.begin[axis] = d < 0 ? -1 : d > 0 ? box.size[axis] : 0;
      there.size[axis] = d == 0 ? box.size[axis] : 1;
      from[axis] = d > 0 ? box.size[axis] - 1 : 0;
    }
    there.first = external_;
    there.received = there.size[0] * there.size[1] * there.size[2];
    there.sent_from = static_cast<std::int64_t>(send_.size());
    // Both sides list a region with x fastest, so that the elements arrive in the order of find().
    for (std::int64_t z = 0; z < there.size[2]; ++z) {
      for (std::int64_t y = 0; y < there.size[1]; ++y) {
        for (std::int64_t x = 0; x < there.size[0]; ++x) {
          send_.push_back(static_cast<std::int32_t>(
              from[0] + x + box.size[0] * (from[1] + y + box.size[1] * (from[2] + z))));
        }
      }
    }
    there.sent = static_cast<std::int64_t>(send_.size()) - there.sent_from;
    external_ += there.received;
    of_direction_[static_cast<std::size_t>(code)] = static_cast<int>(neighbours_.size());
    neighbours_.push_back(there);
  }
  buffer_.resize(send_.size());
  requests_.resize(2 * neighbours_.size());
}

std::int64_t Halo::find(const Triple& point) const {
  std::size_t code = 0;
  for (std::size_t axis = 3; axis-- > 0;) {
    const std::size_t side = point[axis] < 0 ? 0 : point[axis] >= box_.size[axis] ? 2 : 1;
    code = code * 3 + side;
  }
  const int found = of_direction_[code];
  if (found < 0) return -1;
  const Neighbour& there = neighbours_[static_cast<std::size_t>(found)];
  Triple in{};
  for (std::size_t axis = 0; axis < 3; ++axis) in[axis] = point[axis] - there.begin[axis];
  return there.first + in[0] + there.size[0] * (in[1] + there.size[1] * in[2]);
}

void Halo::renumber(const std::vector<std::int32_t>& position) {
  for (std::int32_t& each : send_) each = position[static_cast<std::size_t>(each)];
}

void Halo::exchange(double* x, std::int64_t own) {
  if (neighbours_.empty()) return;
  const std::size_t count = neighbours_.size();
  for (std::size_t k = 0; k < count; ++k) {
    const Neighbour& there = neighbours_[k];
    MPI_Irecv(x + own + there.first, static_cast<int>(there.received), MPI_DOUBLE, there.rank,
              kHaloTag, comm_, &requests_[k]);
  }
  for (std::size_t i = 0; i < send_.size(); ++i) buffer_[i] = x[send_[i]];
  for (std::size_t k = 0; k < count; ++k) {
    const Neighbour& there = neighbours_[k];
    MPI_Isend(buffer_.data() + there.sent_from, static_cast<int>(there.sent), MPI_DOUBLE,
              there.rank, kHaloTag, comm_, &requests_[count + k]);
  }
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
}

}  // namespace assay::hpcg
