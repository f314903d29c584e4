#include "npb/cfd/state.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "npb/common/share.hpp"

namespace assay::npb::cfd {
namespace {

// 1 everywhere, then at(x, y, z) at the block's points and ghosts; local indices.
template <typename At>
void set(const Block& block, Field& u, int threads, At at) {
  const auto size = static_cast<std::ptrdiff_t>(u.layout().size);
  const int z_begin = block.reach_begin(2);
  const int z_end = block.reach_end(2);
#pragma omp parallel num_threads(threads)
  {
#pragma omp for schedule(static)
    for (std::ptrdiff_t i = 0; i < size; ++i) u.data()[i] = 1.0;
#pragma omp for schedule(static)
    for (int z = z_begin; z < z_end; ++z) {
      for (int y = block.reach_begin(1); y < block.reach_end(1); ++y) {
        for (int x = block.reach_begin(0); x < block.reach_end(0); ++x) {
          const State state = at(x, y, z);
          for (int m = 0; m < kComponents; ++m) u.row(m, z, y)[x] = state[m];
        }
      }
    }
  }
}

// The values of the faces interpolated along one direction.
State between(double at, const State& low, const State& high) {
  State state;
  for (int m = 0; m < kComponents; ++m) state[m] = (1.0 - at) * low[m] + at * high[m];
  return state;
}

// The sums over the points inside the cube of the squares of value(m, z, y, x). They are computed
// per plane and added in the order of planes, so that they don't depend on the number of threads.
template <typename Value>
State sums_of(const Block& block, int threads, Value value) {
  const int begin = block.inner_begin(2);
  const int end = std::max(begin, block.inner_end(2));
  std::vector<State> planes(static_cast<std::size_t>(end - begin));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int z = begin; z < end; ++z) {
    State& sums = planes[static_cast<std::size_t>(z - begin)];
    for (int y = block.inner_begin(1); y < block.inner_end(1); ++y) {
      for (int m = 0; m < kComponents; ++m) {
        double sum = 0.0;
#pragma omp simd reduction(+ : sum)
        for (int x = block.inner_begin(0); x < block.inner_end(0); ++x) {
          const double each = value(m, z, y, x);
          sum += each * each;
        }
        sums[m] += sum;
      }
    }
  }
  State total{};
  for (const State& sums : planes) {
    for (int m = 0; m < kComponents; ++m) total[m] += sums[m];
  }
  return total;
}

State norm(State sums, const Block& block, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), kComponents, MPI_DOUBLE, MPI_SUM, comm);
  return root_mean_square(sums, block.points);
}

}  // namespace

void set_exact(const Block& block, Field& u, int threads) {
  set(block, u, threads, [&](int x, int y, int z) {
    return exact_solution(block.coordinate(0, x), block.coordinate(1, y), block.coordinate(2, z));
  });
}

void set_initial(const Block& block, Field& u, int threads) {
  set(block, u, threads, [&](int local_x, int local_y, int local_z) {
    const double x = block.coordinate(0, local_x);
    const double y = block.coordinate(1, local_y);
    const double z = block.coordinate(2, local_z);
    const auto on_boundary = [&](int d, int local) {
      const int index = block.first[static_cast<std::size_t>(d)] + local;
      return index == 0 || index == block.points - 1;
    };
    if (on_boundary(0, local_x) || on_boundary(1, local_y) || on_boundary(2, local_z)) {
      return exact_solution(x, y, z);
    }
    const State a = between(x, exact_solution(0.0, y, z), exact_solution(1.0, y, z));
    const State b = between(y, exact_solution(x, 0.0, z), exact_solution(x, 1.0, z));
    const State c = between(z, exact_solution(x, y, 0.0), exact_solution(x, y, 1.0));
    State state;
    for (int m = 0; m < kComponents; ++m) {
      state[m] = a[m] + b[m] + c[m] - a[m] * b[m] - b[m] * c[m] - c[m] * a[m] + a[m] * b[m] * c[m];
    }
    return state;
  });
}

void set_forcing(const Operator& of, Field& forcing, Field& work, int threads) {
  const Block& block = of.block();
  set_exact(block, work, threads);
#pragma omp parallel num_threads(threads)
  {
    const Share planes = share_of({0, static_cast<std::uint64_t>(block.count[2])},
                                  static_cast<std::uint64_t>(omp_get_thread_num()),
                                  static_cast<std::uint64_t>(omp_get_num_threads()));
    apply(of, work, nullptr, -1.0, forcing, {0, block.count[1]},
          {static_cast<int>(planes.begin), static_cast<int>(planes.end)});
  }
}

State sums_of_squares(const Block& block, const Field& field, int threads) {
  return sums_of(block, threads, [&](int m, int z, int y, int x) { return field.row(m, z, y)[x]; });
}

State root_mean_square(const State& sums, int points) {
  const double inner = points - 2;
  State norms = sums;
  for (double& each : norms) each = std::sqrt(each / (inner * inner * inner));
  return norms;
}

State residual_norm(const Block& block, const Field& residual, double scale, int threads,
                    MPI_Comm comm) {
  State norms = norm(sums_of_squares(block, residual, threads), block, comm);
  for (double& each : norms) each /= scale;
  return norms;
}

State error_norm(const Block& block, const Field& u, int threads, MPI_Comm comm) {
  const State sums = sums_of(block, threads, [&](int m, int z, int y, int x) {
    const State exact =
        exact_solution(block.coordinate(0, x), block.coordinate(1, y), block.coordinate(2, z));
    return u.row(m, z, y)[x] - exact[m];
  });
  return norm(sums, block, comm);
}

}  // namespace assay::npb::cfd
