#include "harness/appointments.hpp"

#include <sched.h>

#include <algorithm>

namespace assay {
namespace {

// Nanoseconds. An announcement within a node takes about one; between hosts the first start is late
// and shows what it takes.
constexpr double kFirstNeed = 10e3;
// A rank that shares its core waits for a time slice or two; who takes longer is not waited for.
constexpr double kMostSlack = 20e6;
// Twice what was needed lately is enough for nearly all, and costs little beside the announcement.
constexpr double kReserve = 2.0;
// By how much a need is forgotten with each start: a rare one has gone after some twenty.
constexpr double kMemory = 0.9;
// Where ranks share cores and there is that long to go, another may need this core to arrive.
constexpr Ticks kTimeToYield = 20'000;
// Who leaves later than so many readings of the clock after the appointed time was interrupted.
constexpr double kReadings = 10.0;
// So many starts may come late before they are compared with those that were in time; and where
// there are so many late ones for one in time, that is not waited for any more.
constexpr std::int64_t kPatience = 8;
constexpr std::int64_t kHopeless = 10;

enum Verdict : int { kDropped, kHeld, kKeptLate };

}  // namespace

Appointments::Appointments(MPI_Comm comm, const GlobalClock& clock, const ClockQuality& quality)
    : comm_(comm),
      clock_(clock),
      tolerance_(
          static_cast<Ticks>(kReadings * 1e9 * std::max(quality.overhead, quality.resolution))),
      need_(kFirstNeed) {
  MPI_Comm_rank(comm_, &rank_);
}

Ticks Appointments::slack() const {
  return static_cast<Ticks>(std::min(kReserve * need_, kMostSlack));
}

Ticks Appointments::await() {
  Ticks start = 0;
  if (rank_ == 0) {
    slack_ = slack();
    start = clock_.now() + slack_;
  }
  MPI_Bcast(&start, 1, MPI_INT64_T, 0, comm_);
  const Ticks here = clock_.to_local(start);
  Ticks now = clock_.local();
  arrived_ = now - here;
  while (now < here) {
    if (mostly_late() && here - now > kTimeToYield) sched_yield();
    now = clock_.local();
  }
  left_ = now - here;
  return start;
}

bool Appointments::held(bool keep) {
  Ticks latest[] = {arrived_, left_};
  MPI_Reduce(rank_ == 0 ? MPI_IN_PLACE : latest, latest, 2, MPI_INT64_T, MPI_MAX, 0, comm_);
  int verdict = kHeld;
  if (rank_ == 0) {
    need_ = std::max(static_cast<double>(slack_ + latest[0]), kMemory * need_);
    const bool hopeless = late_ > kPatience && late_ >= kHopeless * (starts_ - late_);
    if (latest[1] > tolerance_) verdict = keep || hopeless ? kKeptLate : kDropped;
  }
  MPI_Bcast(&verdict, 1, MPI_INT, 0, comm_);
  ++starts_;
  if (verdict != kHeld) ++late_;
  if (verdict == kKeptLate) ++kept_;
  return verdict != kDropped;
}

}  // namespace assay
