// Appointed starts: all ranks begin a sample at one time of the global clock.
#pragma once

#include <mpi.h>

#include "harness/clock.hpp"
#include "harness/global_clock.hpp"

namespace assay {

// Before each sample rank 0 announces a time a little ahead, and every rank waits for it busily
// (the round-time scheme of Hunold & Carpen-Amarie, TPDS 2016; after the windows of SKaMPI). How
// far ahead follows what the announcements have taken. A start for which a rank came late does not
// count, and is to be made again. Where hardly a start is in time, as where ranks share cores, late
// ones count nevertheless and are told: there would be no end otherwise.
class Appointments {
 public:
  // Neither is copied.
  Appointments(MPI_Comm comm, const GlobalClock& clock, const ClockQuality& quality);

  // Collective. Returns at the time agreed on, or as soon after as this rank can: that time, of the
  // global clock.
  Ticks await();

  // Collective; after what the start was for. Whether it counts, on every rank. With `keep` of rank
  // 0 it counts even if somebody was late.
  bool held(bool keep);

  std::int64_t late() const { return late_; }
  // Of these, those that counted.
  std::int64_t kept() const { return kept_; }

 private:
  Ticks slack() const;
  bool mostly_late() const { return 2 * late_ > starts_; }

  MPI_Comm comm_;
  const GlobalClock& clock_;
  Ticks tolerance_;
  int rank_ = 0;
  double need_;        // rank 0: ns between announcement and the last arrival, lately
  Ticks slack_ = 0;    // rank 0: how far ahead the last announcement was
  Ticks arrived_ = 0;  // ns after the appointed time; negative before it
  Ticks left_ = 0;
  std::int64_t starts_ = 0;
  std::int64_t late_ = 0;
  std::int64_t kept_ = 0;
};

}  // namespace assay
