// The system in its plain form: compressed rows in the natural order, all operations literally as
// the specification has them. Its result after 50 iterations is the one that the fast form must
// reach.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "hpcg/halo.hpp"
#include "hpcg/sparse.hpp"
#include "hpcg/vectors.hpp"

namespace assay::hpcg {

// Levels of the multigrid preconditioner (SAND2013-8752, section 3.4).
inline constexpr int kLevels = 4;

struct PlainLevel {
  Box box;
  Halo halo;
  SparseMatrix a;
  Schedule order;                      // for sweeps by several threads
  std::vector<std::int32_t> injected;  // the point of the next finer level of each point
};

// The grids of the multigrid, the finest first. Collective.
std::vector<PlainLevel> plain_levels(const Box& finest, MPI_Comm comm, int threads);

// The right-hand side whose solution is 1 everywhere: the row sums, from the numbers of neighbours.
void fill_right_side(const Box& box, double* b);

class PlainSystem : public System {
 public:
  PlainSystem(std::vector<PlainLevel>& levels, int threads);

  std::int64_t own() const override { return levels_[0].a.rows; }
  std::int64_t length() const override { return levels_[0].a.columns; }
  void multiply(double* x, double* y) override { multiply(levels_[0], x, y); }
  void precondition(const double* r, double* z) override { cycle(0, r, z); }

 private:
  struct Scratch {
    Vector product;
    Vector r;  // of the next coarser level
    Vector x;
  };

  void multiply(PlainLevel& level, double* x, double* y) const;
  // A symmetric Gauss-Seidel step: forward and backward.
  void smooth(PlainLevel& level, const double* r, double* x) const;
  void cycle(std::size_t depth, const double* r, double* x);

  std::vector<PlainLevel>& levels_;
  std::vector<Scratch> scratch_;
  int threads_;
};

}  // namespace assay::hpcg
