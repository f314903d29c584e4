#include "hpcg/vectors.hpp"

#include <omp.h>

#include <cstddef>
#include <numeric>

namespace assay::hpcg {

namespace {

constexpr std::size_t kLineDoubles = 8;

// Loops over parts are functions of their own: in a lambda GCC 12 takes captured pointers for
// variables of each lane, and gathers what it could load.
double part_dot(const double* x, const double* y, Part part) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = part.begin; i < part.end; ++i) sum += x[i] * y[i];
  return sum;
}

template <class Each>
void for_parts(std::int64_t length, int threads, const Each& each) {
#pragma omp parallel num_threads(threads)
  each(part_of(length, omp_get_thread_num(), omp_get_num_threads()));
}

}  // namespace

Vector touched(std::int64_t length, int threads) {
  Vector vector(static_cast<std::size_t>(length));
  double* const x = vector.data();
  for_parts(length, threads, [&](Part part) {
    for (std::int64_t i = part.begin; i < part.end; ++i) x[i] = 0.0;
  });
  return vector;
}

double dot(const double* x, const double* y, std::int64_t length, int threads, MPI_Comm comm) {
  std::vector<double> sums(static_cast<std::size_t>(threads) * kLineDoubles, 0.0);
  for_parts(length, threads, [&](Part part) {
    sums[static_cast<std::size_t>(omp_get_thread_num()) * kLineDoubles] = part_dot(x, y, part);
  });
  double all = std::accumulate(sums.begin(), sums.end(), 0.0);
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
  return all;
}

void waxpby(double alpha, const double* x, double beta, const double* y, double* w,
            std::int64_t length, int threads) {
  for_parts(length, threads, [&](Part part) {
  // w may be x or y.
#pragma omp simd
    for (std::int64_t i = part.begin; i < part.end; ++i) w[i] = alpha * x[i] + beta * y[i];
  });
}

}  // namespace assay::hpcg
