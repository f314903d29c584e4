// The system in its fast form: sliced matrices in the order of a schedule, several threads.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "harness/fault.hpp"
#include "harness/phases.hpp"
#include "hpcg/halo.hpp"
#include "hpcg/plain.hpp"
#include "hpcg/sliced.hpp"
#include "hpcg/vectors.hpp"

namespace assay::hpcg {

class FastSystem : public System {
 public:
  // Takes the plain levels' matrices one by one and frees each: both forms of all levels never
  // exist at once. Sweeps follow the levels' `order`.
  FastSystem(std::vector<PlainLevel>& plain, int threads, Phases& phases,
             const PlantedFault& fault);

  std::int64_t own() const override { return levels_[0].a.own; }
  std::int64_t length() const override { return levels_[0].a.length; }
  void multiply(double* x, double* y) override;
  void precondition(const double* r, double* z) override { cycle(0, r, z); }

  const SlicedMatrix& finest() const { return levels_[0].a; }
  // Steps of a sweep on the finest grid.
  std::int64_t steps() const { return static_cast<std::int64_t>(levels_[0].a.step.size()) - 1; }

  // Other numbers on the diagonal of the finest matrix, by position.
  void set_diagonal(const std::vector<double>& diagonal);

 private:
  struct Level {
    SlicedMatrix a;
    Halo halo;
    Vector scratch;  // D s or w of the sweeps
    // Towards the next coarser level: for each of its positions the position here, and those rows'
    // lower entries, from which the residual there follows.
    std::vector<std::int32_t> injected;
    Slices residual;
    Slices corrected;  // entries that a correction of those positions meets
    Vector coarse_r;
    Vector coarse_x;
  };

  void exchange(Level& level, double* x);
  void cycle(std::size_t depth, const double* r, double* x);
  void restrict_residual(Level& level, const double* r, const double* x) const;
  void correct(Level& level, double* x) const;

  std::vector<Level> levels_;
  int threads_;
  Phases& phases_;
  PlantedFault fault_;
};

}  // namespace assay::hpcg
