#include "harness/appointments.hpp"

#include <sched.h>

#include <algorithm>

namespace assay {
namespace {

// Nanoseconds. An announcement within a node takes about one microsecond; between hosts the first
// start is late and shows the time needed.
constexpr double kFirstNeed = 10e3;
// A rank that shares its core waits for one or two time slices; nothing waits for a rank that is
// later.
constexpr double kMostSlack = 20e6;
// Twice the time needed recently is enough for nearly all starts, and is short compared with the
// announcement.
constexpr double kReserve = 2.0;
// Decay of the need per start: the effect of a single late start is gone after some twenty.
constexpr double kMemory = 0.9;
// If ranks share cores and at least this time remains, the rank yields: another may need this core
// to arrive.
constexpr Ticks kTimeToYield = 20'000;
// A rank that leaves later than this many clock readings after the appointed time was interrupted.
constexpr double kReadings = 10.0;
// This many starts may be late before they are compared with those in time; and at this ratio of
// late starts to starts in time, late starts are accepted.
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
