// Appointed starts: all ranks begin a sample at one time of the global clock.
#pragma once

#include <mpi.h>

#include "harness/clock.hpp"
#include "harness/global_clock.hpp"

namespace assay {

// Before each sample rank 0 announces a start time slightly ahead, and every rank busy-waits for it
// (the round-time scheme of Hunold & Carpen-Amarie, TPDS 2016; after the windows of SKaMPI). The
// lead time adapts to how long the announcements have taken. A start for which a rank was late does
// not count and must be repeated. If almost every start is late, for example because ranks share
// cores, late starts count anyway and are reported. Otherwise sampling would never end.
class Appointments {
 public:
  // Neither is copied: both must outlive the object.
  Appointments(MPI_Comm comm, const GlobalClock& clock, const ClockQuality& quality);

  // Collective. Waits until the appointed time, or returns immediately if it has passed on this
  // rank. Returns the appointed time, on the global clock.
  Ticks await();

  // Collective; called after the timed operation. Whether the start counts, on every rank. With
  // `keep` on rank 0 it counts even if a rank was late.
  bool held(bool keep);

  std::int64_t late() const { return late_; }
  // Late starts that counted.
  std::int64_t kept() const { return kept_; }

 private:
  Ticks slack() const;
  bool mostly_late() const { return 2 * late_ > starts_; }

  MPI_Comm comm_;
  const GlobalClock& clock_;
  Ticks tolerance_;
  int rank_ = 0;
  double need_;        // rank 0: ns between announcement and last arrival, recently
  Ticks slack_ = 0;    // rank 0: how far ahead the last announcement was
  Ticks arrived_ = 0;  // ns after the appointed time; negative before it
  Ticks left_ = 0;
  std::int64_t starts_ = 0;
  std::int64_t late_ = 0;
  std::int64_t kept_ = 0;
};

}  // namespace assay
