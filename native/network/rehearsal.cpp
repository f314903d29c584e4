#include "network/rehearsal.hpp"

#include <mpi.h>

#include <algorithm>
#include <limits>

#include "harness/clock.hpp"

namespace assay {
namespace {

// Shorter messages take no considerable time on any network.
constexpr std::size_t kShort = 4096;
constexpr std::size_t kSmall = 64;
constexpr std::size_t kLarge = 8;
// The first attempt may also open connections, or be interrupted.
constexpr int kAttempts = 2;
constexpr std::size_t kUnit = 8;

}  // namespace

double rehearse(const Context& context, std::size_t bytes, double operations,
                const std::function<void(std::size_t part)>& operate) {
  const double longest = context.deadline.longest();
  if (!context.deadline.exists() || bytes < kShort) return 0.0;
  // The time of a part: the shorter of two.
  const auto timed = [&](std::size_t divisor) {
    double best = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      MPI_Barrier(context.comm);
      const Ticks start = ticks();
      operate(bytes / divisor / kUnit * kUnit);
      double took = seconds(ticks() - start);
      MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, context.comm);
      best = std::min(best, took);
      if (best > longest) break;
    }
    return best;
  };
  const double small = timed(kSmall);
  // The next part by itself would take too long.
  const double next = small * static_cast<double>(kSmall / kLarge);
  if (next > longest) return operations * small * static_cast<double>(kSmall);
  const double large = timed(kLarge);
  // The line through both, as 1/1 - 1/8 is 8 (1/8 - 1/64).
  return operations * (large + static_cast<double>(kLarge) * std::max(large - small, 0.0));
}

}  // namespace assay
