#include "noise/fixed_work.hpp"

#include <algorithm>
#include <limits>

#include "harness/clock.hpp"

namespace assay {

std::int64_t steps_lasting(MPI_Comm comm, double wanted, FixedWork& work) {
  // Long enough for the clock (20 µs and more), short enough that some round is undisturbed on a
  // machine with a thousand timer ticks per second; in total a few milliseconds, by which time a
  // core has left its idle frequency.
  constexpr std::int64_t kSteps = 20000;
  constexpr int kRounds = 200;
  MPI_Barrier(comm);  // concurrently, since a core may run faster while the others are idle
  Ticks best = std::numeric_limits<Ticks>::max();
  for (int round = 0; round < kRounds; ++round) {
    const Ticks before = ticks();
    work.steps(kSteps);
    best = std::min(best, ticks() - before);
  }
  double rate = static_cast<double>(kSteps) / seconds(std::max<Ticks>(best, 1));
  MPI_Allreduce(MPI_IN_PLACE, &rate, 1, MPI_DOUBLE, MPI_MAX, comm);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(rate * wanted));
}

}  // namespace assay
