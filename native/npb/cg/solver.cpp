#include "npb/cg/solver.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <string>

#include "harness/kernel.hpp"
#include "npb/cg/matrix.hpp"
#include "npb/cg/sparse_product.hpp"
#include "npb/common/shared.hpp"
#include "npb/common/team.hpp"

namespace assay::npb {
namespace {

// Prefetch distance in elements (4 KiB of values): measured on Zen 5, class B 8.5 ms per product
// against 15 ms without, nearly the memory's bandwidth. For data in cache it costs a few per cent.
constexpr int kAhead = 512;

bool narrow_index(const CgClass& problem) {
  return problem.order <= std::numeric_limits<std::uint16_t>::max() + 1;
}

template <typename Index>
class Solver : public CgSolver {
 public:
  Solver(const CgClass& problem, MPI_Comm comm, int threads, std::size_t cache_bytes,
         Phases& phases)
      : problem_(problem),
        comm_(comm),
        phases_(phases),
        team_(comm, threads, &phases, kCgAllreduce),
        blocks_(threads) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const GeneratingVectors vectors = generate_vectors(problem);
    const std::vector<std::int64_t> bounds = row_bounds(vectors);
    const std::vector<std::int32_t> limits = split_rows(bounds, 0, problem.order, ranks);
    for (int r = 0; r < ranks; ++r) {
      first_rows_.push_back(limits[r]);
      row_counts_.push_back(limits[r + 1] - limits[r]);
    }
    first_row_ = limits[rank];
    const std::int32_t end_row = limits[rank + 1];

    direction_ = HugeArray<double>(problem.order);
    for (auto* vector : {&x_, &z_, &residual_, &product_}) {
      *vector = HugeArray<double>(end_row - first_row_);
    }
    const RowIncidence incidence(vectors, first_row_, end_row);
    const std::vector<std::int32_t> parts = split_rows(bounds, first_row_, end_row, threads);
    std::exception_ptr failure;
#pragma omp parallel num_threads(threads)
    {
      const int thread = omp_get_thread_num();
      try {
        if (omp_get_num_threads() != threads) {
          throw KernelError("OpenMP gave " + std::to_string(omp_get_num_threads()) +
                            " threads instead of " + std::to_string(threads));
        }
        blocks_[thread] = build_rows<Index>(vectors, incidence, bounds, problem.shift,
                                            parts[thread], parts[thread + 1]);
      } catch (...) {
#pragma omp critical(assay_npb_cg_failure)
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
    prefetch_ =
        static_cast<std::size_t>(nonzeros()) * (sizeof(double) + sizeof(Index)) > cache_bytes;
  }

  Estimate estimate(int iterations) override {
    Estimate estimate;
    phases_.around(kCgCompute, [&] {
#pragma omp parallel num_threads(static_cast<int>(blocks_.size()))
      {
        Member member(team_);
        const Block& block = blocks_[member.thread()];
        const Estimate mine = iterate(member, block, iterations);
#pragma omp master
        estimate = mine;
      }
    });
    return estimate;
  }

  std::int64_t nonzeros() const override {
    std::int64_t sum = 0;
    for (const Block& block : blocks_) sum += block.start[block.end - block.begin];
    return sum;
  }

  void perturb(double factor) override {
    for (Block& block : blocks_) {
      if (block.begin == 0 && block.end > 0) block.value[0] *= factor;
    }
  }

 private:
  using Block = SparseRows<Index>;

  Estimate iterate(Member& member, const Block& block, int iterations) {
    const std::int32_t begin = block.begin - first_row_;
    const std::int32_t end = block.end - first_row_;
    double* const x = x_.data();
    const double* const z = z_.data();
    Estimate estimate;
    for (std::int32_t i = begin; i < end; ++i) x[i] = 1.0;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      estimate.residual = solve(member, block);
      double xz = 0.0;
      double zz = 0.0;
#pragma omp simd reduction(+ : xz, zz)
      for (std::int32_t i = begin; i < end; ++i) {
        xz += x[i] * z[i];
        zz += z[i] * z[i];
      }
      const auto [xz_all, zz_all] = member.sum(xz, zz);
      estimate.zeta = problem_.shift + 1.0 / xz_all;
      const double scale = 1.0 / std::sqrt(zz_all);
#pragma omp simd
      for (std::int32_t i = begin; i < end; ++i) x[i] = scale * z[i];
      if (member.thread() == 0) phases_.done(iteration + 1, iterations);
    }
    return estimate;
  }

  // Conjugate gradients: z approximates A^-1 x. Returns |x - A z|. A thread works on its own rows
  // of every vector and reads the whole direction.
  double solve(Member& member, const Block& block) {
    const std::int32_t begin = block.begin - first_row_;
    const std::int32_t end = block.end - first_row_;
    const double* const x = x_.data();
    double* const z = z_.data();
    double* const r = residual_.data();
    double* const p = direction_.data() + first_row_;
    const double* const q = product_.data();

    double rho = 0.0;
#pragma omp simd reduction(+ : rho)
    for (std::int32_t i = begin; i < end; ++i) {
      z[i] = 0.0;
      r[i] = x[i];
      p[i] = x[i];
      rho += x[i] * x[i];
    }
    rho = member.sum(rho);
    gather_direction(member);

    for (int iteration = 1; iteration <= kCgInnerIterations; ++iteration) {
      const double alpha = rho / member.sum(multiply_direction(block));
      double rho_next = 0.0;
#pragma omp simd reduction(+ : rho_next)
      for (std::int32_t i = begin; i < end; ++i) {
        r[i] -= alpha * q[i];
        rho_next += r[i] * r[i];
      }
      rho_next = member.sum(rho_next);
      const double beta = rho_next / rho;
      rho = rho_next;
      if (iteration < kCgInnerIterations) {
#pragma omp simd
        for (std::int32_t i = begin; i < end; ++i) {
          z[i] += alpha * p[i];
          p[i] = r[i] + beta * p[i];
        }
      } else {
        // No next direction is needed: its memory holds the solution, for the residual.
#pragma omp simd
        for (std::int32_t i = begin; i < end; ++i) {
          z[i] += alpha * p[i];
          p[i] = z[i];
        }
      }
      gather_direction(member);
    }

    multiply_direction(block);
    double square = 0.0;
#pragma omp simd reduction(+ : square)
    for (std::int32_t i = begin; i < end; ++i) {
      const double difference = x[i] - q[i];
      square += difference * difference;
    }
    return std::sqrt(member.sum(square));
  }

  // q = A p on the thread's rows; returns their part of p q.
  double multiply_direction(const Block& block) {
    double* const q = product_.data() + (block.begin - first_row_);
    const double* const p = direction_.data();
    return prefetch_ ? multiply<kAhead>(block, p, q) : multiply<0>(block, p, q);
  }

  void gather_direction(Member& member) {
    member.rendezvous([this] {
      phases_.in(kCgAllgatherv, [this] {
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, direction_.data(), row_counts_.data(),
                       first_rows_.data(), MPI_DOUBLE, comm_);
      });
    });
  }

  const CgClass& problem_;
  MPI_Comm comm_;
  Phases& phases_;
  Team team_;
  std::vector<Block> blocks_;  // one per thread
  std::int32_t first_row_ = 0;
  std::vector<int> first_rows_;  // of every rank
  std::vector<int> row_counts_;
  HugeArray<double> direction_;                   // p, all rows
  HugeArray<double> x_, z_, residual_, product_;  // the rank's rows; product is q
  bool prefetch_ = false;
};

}  // namespace

std::unique_ptr<CgSolver> make_cg_solver(const CgClass& problem, MPI_Comm comm, int threads,
                                         std::size_t cache_bytes, Phases& phases) {
  if (narrow_index(problem)) {
    return std::make_unique<Solver<std::uint16_t>>(problem, comm, threads, cache_bytes, phases);
  }
  return std::make_unique<Solver<std::int32_t>>(problem, comm, threads, cache_bytes, phases);
}

double cg_bytes_per_rank(const CgClass& problem, int ranks, int threads) {
  using namespace shared;
  static_assert(sizeof(RowIncidence::Entry) == 16);
  const double order = problem.order;
  const double nonzer = problem.nonzeros;
#include "npb/cg/memory.def"
  return bytes;
}

}  // namespace assay::npb
