// The share of data that the page cache served instead of the device, over all samples of a
// measurement.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/kernel.hpp"

namespace assay {

// For reads: bytes requested but not fetched from storage. For writes: bytes written but not on the
// device when the sample ended. Updated outside of the timed part.
class CacheAccount {
 public:
  // Immediately before a sample that reads, and at any time after it.
  void before_reading();
  void after_reading(std::uint64_t asked);
  // At any time after a sample that wrote. `pending`: bytes not yet on the device; nothing if
  // unknown.
  void after_writing(std::uint64_t written, std::optional<std::uint64_t> pending);

  // Collective: the sums over all ranks.
  void add_up(MPI_Comm comm);
  // "from_cache", a share; nothing if the system of some rank doesn't report it.
  std::map<std::string, Value> facts() const;

 private:
  std::optional<std::uint64_t> fetched_before_;
  double requested_ = 0.0;
  double on_device_ = 0.0;  // bytes fetched from the device, or written to it in time
  double unknown_ = 0.0;    // number of samples without a report of the system
};

}  // namespace assay
