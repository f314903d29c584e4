#include "hpcg/fast.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "hpcg/gradients.hpp"

namespace assay::hpcg {

FastSystem::FastSystem(std::vector<PlainLevel>& plain, int threads, Phases& phases,
                       const PlantedFault& fault)
    : threads_(threads), phases_(phases), fault_(fault) {
  levels_.resize(plain.size());
  for (std::size_t depth = 0; depth < plain.size(); ++depth) {
    Level& level = levels_[depth];
    level.a = slice(plain[depth].a, plain[depth].order, threads);
    plain[depth].a = {};
    plain[depth].order = {};
    level.halo = std::move(plain[depth].halo);
    level.halo.renumber(level.a.position);
    level.scratch = touched(level.a.own, threads);
  }
  for (std::size_t depth = 0; depth + 1 < levels_.size(); ++depth) {
    Level& level = levels_[depth];
    const SlicedMatrix& coarse = levels_[depth + 1].a;
    level.injected.assign(static_cast<std::size_t>(coarse.own),
                          static_cast<std::int32_t>(level.a.zero()));
    for (std::size_t at = 0; at < coarse.row_at.size(); ++at) {
      const std::int32_t row = coarse.row_at[at];
      if (row < 0) continue;
      const auto fine = plain[depth + 1].injected[static_cast<std::size_t>(row)];
      level.injected[at] = level.a.position[static_cast<std::size_t>(fine)];
    }
    level.residual = lower_rows(level.a, level.injected, threads);
    level.corrected = injected_entries(level.a, level.injected, threads);
    level.coarse_r = touched(coarse.length, threads);
    level.coarse_x = touched(coarse.length, threads);
  }
  if (fault_.is("value")) levels_[0].a.lower.value[0] -= 1e-7;
}

void FastSystem::exchange(Level& level, double* x) {
  if (fault_.is("halo")) return;
  level.halo.exchange(x, level.a.own);
}

void FastSystem::multiply(double* x, double* y) {
  exchange(levels_[0], x);
  hpcg::multiply(levels_[0].a, x, y, threads_);
}

void FastSystem::set_diagonal(const std::vector<double>& diagonal) {
  SlicedMatrix& a = levels_[0].a;
  for (std::size_t at = 0; at < diagonal.size(); ++at) {
    a.diagonal[at] = diagonal[at];
    a.inverse[at] = 1.0 / diagonal[at];
  }
}

// The residual after smooth_from_zero() is r - D s - L x; only the points of the coarser grid need
// it.
void FastSystem::restrict_residual(Level& level, const double* r, const double* x) const {
  const Slices& rows = level.residual;
  const auto slices = static_cast<std::int64_t>(level.injected.size()) / kLanes;
  const std::int32_t* const injected = level.injected.data();
  const double* const d_s = level.scratch.data();
  double* const to = level.coarse_r.data();
  const auto zero = static_cast<std::int32_t>(level.a.zero());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t s = 0; s < slices; ++s) {
    Eight sum{};
    add_products(rows, s, x, sum);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const std::int32_t at = injected[s * kLanes + lane];
      to[s * kLanes + lane] = at == zero ? 0.0 : r[at] - d_s[at] - sum[lane];
    }
  }
}

void FastSystem::correct(Level& level, double* x) const {
  const auto count = static_cast<std::int64_t>(level.injected.size());
  const std::int32_t* const injected = level.injected.data();
  const double* const from = level.coarse_x.data();
  const double* const diagonal = level.a.diagonal.data();
  double* const d_s = level.scratch.data();
  const auto zero = static_cast<std::int32_t>(level.a.zero());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int32_t at = injected[i];
    if (at == zero) continue;
    x[at] += from[i];
    d_s[at] += diagonal[at] * from[i];
  }
}

void FastSystem::cycle(std::size_t depth, const double* r, double* x) {
  Level& level = levels_[depth];
  phases_.in(kSmoother, [&] {
    std::fill(x + level.a.own, x + level.a.length, 0.0);
    smooth_from_zero(level.a, r, x, level.scratch.data(), threads_);
    if (fault_.is("sweep") && depth == 0) {
      for (std::int64_t i = 0; i < level.a.own; ++i) {
        x[i] = level.scratch[static_cast<std::size_t>(i)] *
               level.a.inverse[static_cast<std::size_t>(i)];
      }
    }
  });
  if (depth + 1 == levels_.size()) return;
  phases_.in(kTransfer, [&] {
    exchange(level, x);
    restrict_residual(level, r, x);
  });
  cycle(depth + 1, level.coarse_r.data(), level.coarse_x.data());
  phases_.in(kTransfer, [&] { correct(level, x); });
  phases_.in(kSmoother, [&] {
    exchange(level, x);
    smooth(level.a, level.corrected, level.coarse_x.data(), r, x, level.scratch.data(), threads_);
  });
}

}  // namespace assay::hpcg
