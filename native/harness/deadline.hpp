// The time that a measurement may take, for kernels whose shortest measurement may take longer.
#pragma once

#include <mpi.h>

#include <cmath>
#include <limits>

#include "harness/clock.hpp"

namespace assay {

class Deadline {
 public:
  // Without a limit.
  Deadline() = default;
  Deadline(Ticks begin, double longest) : begin_(begin), longest_(longest) {}

  // Seconds from the beginning of the measurement; infinity without a limit.
  double longest() const { return longest_; }
  bool exists() const { return std::isfinite(longest_); }

  // Whether another `more` seconds fit into that part of the time on every rank. Collective over
  // `comm`; the result is the same on all its ranks, whose clocks need not agree. With a limit, no
  // rank returns before all have called.
  bool allows(MPI_Comm comm, double more, double part = 1.0) const {
    if (!exists()) return true;
    double latest = seconds(ticks() - begin_) + more;
    MPI_Allreduce(MPI_IN_PLACE, &latest, 1, MPI_DOUBLE, MPI_MAX, comm);
    return latest <= part * longest_;
  }

 private:
  Ticks begin_ = 0;
  double longest_ = std::numeric_limits<double>::infinity();
};

}  // namespace assay
