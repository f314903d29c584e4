// The failure of one rank ends the waiting of all others.
#pragma once

#include <mpi.h>

#include <vector>

namespace assay::gpu {

// Where ranks wait for each other outside of MPI, such as in an operation between their devices, a
// rank that fails tells the others.
class Alarm {
 public:
  explicit Alarm(MPI_Comm comm) : comm_(comm) {}

  // Collective: receives the messages of all ranks that failed.
  ~Alarm() {
    const int mine = raised_ ? 1 : 0;
    std::vector<int> all(static_cast<std::size_t>(size()));
    MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, comm_);
    for (int other = 0; other < size(); ++other) {
      if (other == rank() || all[static_cast<std::size_t>(other)] == 0) continue;
      MPI_Recv(nullptr, 0, MPI_BYTE, other, kAlarm, comm_, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  // This rank has failed. Returns at once.
  void raise() {
    if (raised_) return;
    raised_ = true;
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) continue;
      MPI_Isend(nullptr, 0, MPI_BYTE, other, kAlarm, comm_, &requests_.emplace_back());
    }
  }

  // Whether another rank has failed.
  bool is_raised() const {
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, kAlarm, comm_, &found, MPI_STATUS_IGNORE);
    return found != 0;
  }

 private:
  static constexpr int kAlarm = 71;

  int rank() const {
    int rank = 0;
    MPI_Comm_rank(comm_, &rank);
    return rank;
  }
  int size() const {
    int size = 1;
    MPI_Comm_size(comm_, &size);
    return size;
  }

  MPI_Comm comm_;
  bool raised_ = false;
  std::vector<MPI_Request> requests_;
};

}  // namespace assay::gpu
