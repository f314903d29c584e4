// MG's right-hand side: ten points of charge +1 and ten of charge -1.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

namespace assay::npb {

inline constexpr std::uint64_t kMgSeed = 314159265;

struct Charge {
  std::uint64_t index;  // of the point: x first, then y, then z
  double value;
};

// The first `points` numbers of the generator are assigned to the points in order; those with the
// ten greatest have charge +1, those with the ten smallest -1 (RNR-94-007, 2.2). Collective: each
// rank and thread searches a share of the numbers.
std::vector<Charge> find_charges(std::uint64_t points, std::uint64_t seed, MPI_Comm comm,
                                 int threads);

}  // namespace assay::npb
