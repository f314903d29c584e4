// The elements of vectors that neighbouring ranks exchange.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "hpcg/grid.hpp"

namespace assay::hpcg {

class Halo {
 public:
  Halo() = default;
  Halo(const Box& box, MPI_Comm comm);

  // The number of elements from other ranks. They follow the rank's own ones in a vector.
  std::int64_t external() const { return external_; }

  // Where a point outside of the box, at most one away, lies among the external elements; -1 if
  // the domain ends before it.
  std::int64_t find(const Triple& point) const;

  // Own elements are renumbered: element i is now at position[i].
  void renumber(const std::vector<std::int32_t>& position);

  // Collective: sends own elements and receives the external ones into x + own.
  void exchange(double* x, std::int64_t own);

 private:
  struct Neighbour {
    int rank = -1;
    std::int64_t first = 0;  // among the external elements
    std::int64_t received = 0;
    std::int64_t sent_from = 0;  // in send_
    std::int64_t sent = 0;
    Triple begin{};  // the region outside of the box, in the box's coordinates
    Triple size{};
  };

  MPI_Comm comm_ = MPI_COMM_NULL;
  Box box_;
  std::int64_t external_ = 0;
  std::vector<int> of_direction_;  // the neighbour of each of the 27 directions, or -1
  std::vector<Neighbour> neighbours_;
  std::vector<std::int32_t> send_;
  std::vector<double> buffer_;
  std::vector<MPI_Request> requests_;
};

}  // namespace assay::hpcg
