#include "storage/stonewall.hpp"

#include <utility>

#include "harness/clock.hpp"
#include "harness/signals.hpp"
#include "storage/scratch.hpp"

namespace assay {

void unless_stopped() {
  if (stop_requested()) throw KernelError("stopped by a signal");
}

Stonewall::Stonewall(MPI_Comm comm, double seconds, std::function<void(double)> progress)
    : comm_(comm), seconds_(seconds), progress_(std::move(progress)) {}

Reached Stonewall::run(std::int64_t most, const std::function<void(std::int64_t)>& step,
                       bool wears_out) const {
  const Ticks begin = ticks();
  std::int64_t done = 0;
  const auto passed = [&] {
    return planted_ > 0.0 ? planted_ * static_cast<double>(done) : seconds(ticks() - begin);
  };
  all_or_none(comm_, [&] {
    for (double now = 0.0; done < most && (now = passed()) < seconds_; ++done) {
      unless_stopped();
      if (progress_) progress_(now / seconds_);
      step(done);
    }
  });
  long long counts[] = {done, -done};
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_LONG_LONG, MPI_MAX, comm_);
  const Reached reached{counts[0], -counts[1], counts[0] == most};
  all_or_none(comm_, [&] {
    for (; wears_out && done < reached.most; ++done) {
      unless_stopped();
      step(done);
    }
  });
  return reached;
}

}  // namespace assay
