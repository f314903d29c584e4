#include "linpack/residual.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::linpack {
namespace {

// For each local row: A's row times x, and the sum of its magnitudes.
struct RowSums {
  std::vector<double> product;
  std::vector<double> magnitude;
};

RowSums local_sums(const Grid& grid, const Generator& generator, const Cyclic& rows,
                   const Cyclic& columns, const std::vector<double>& x, int threads) {
  const auto count = static_cast<std::size_t>(rows.count(grid.my_row));
  const auto n = static_cast<std::int64_t>(x.size());
  const std::int64_t width = columns.below(n, grid.my_column);
  std::vector<RowSums> of_thread(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
  {
    RowSums& sums = of_thread[static_cast<std::size_t>(omp_get_thread_num())];
    sums.product.assign(count, 0.0);
    sums.magnitude.assign(count, 0.0);
    std::vector<double> column(count);
#pragma omp for schedule(static)
    for (std::int64_t local = 0; local < width; ++local) {
      const std::int64_t global = columns.global(local, grid.my_column);
      generator.column(global, rows, grid.my_row, column.data());
      const double factor = x[static_cast<std::size_t>(global)];
      for (std::size_t i = 0; i < count; ++i) {
        sums.product[i] += column[i] * factor;
        sums.magnitude[i] += std::abs(column[i]);
      }
    }
  }
  for (std::size_t t = 1; t < of_thread.size(); ++t) {
    if (of_thread[t].product.empty()) continue;  // there were fewer threads than requested
    for (std::size_t i = 0; i < count; ++i) {
      of_thread[0].product[i] += of_thread[t].product[i];
      of_thread[0].magnitude[i] += of_thread[t].magnitude[i];
    }
  }
  return std::move(of_thread[0]);
}

// The greatest magnitude; NaN once a value was NaN.
class Norm {
 public:
  void add(double value) {
    if (!(std::abs(value) <= value_)) value_ = std::abs(value);
    if (std::isnan(value)) not_a_number_ = true;
  }

  // Collective.
  double over(MPI_Comm comm) const {
    double greatest[] = {not_a_number_ ? 0.0 : value_, not_a_number_ ? 1.0 : 0.0};
    MPI_Allreduce(MPI_IN_PLACE, greatest, 2, MPI_DOUBLE, MPI_MAX, comm);
    return greatest[1] > 0.0 ? std::numeric_limits<double>::quiet_NaN() : greatest[0];
  }

 private:
  double value_ = 0.0;
  bool not_a_number_ = false;
};

}  // namespace

double scaled_residual(const Grid& grid, MPI_Comm comm, const Generator& generator,
                       const Cyclic& rows, const Cyclic& columns, const std::vector<double>& x,
                       int threads) {
  RowSums sums = local_sums(grid, generator, rows, columns, x, threads);
  const auto count = static_cast<int>(sums.product.size());
  for (auto* each : {&sums.product, &sums.magnitude}) {
    MPI_Allreduce(MPI_IN_PLACE, each->data(), count, MPI_DOUBLE, MPI_SUM, grid.row);
  }
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<double> b(sums.product.size());
  generator.column(n, rows, grid.my_row, b.data());

  Norm residual;
  Norm norm_a;
  Norm norm_b;
  Norm norm_x;
  for (std::size_t i = 0; i < b.size(); ++i) {
    residual.add(sums.product[i] - b[i]);
    norm_a.add(sums.magnitude[i]);
    norm_b.add(b[i]);
  }
  for (const double each : x) norm_x.add(each);
  const double above = residual.over(comm);
  const double size = norm_a.over(comm) * norm_x.over(comm) + norm_b.over(comm);
  constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;
  return above / (kUnitRoundoff * size * static_cast<double>(n));
}

}  // namespace assay::linpack
