// What the page cache answered in place of the device, over all samples of a measurement.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "harness/kernel.hpp"

namespace assay {

// Of reads: the bytes asked for and not fetched from storage. Of writes: the bytes written and not
// on the device when the sample ended. Filled outside of what is timed.
class CacheAccount {
 public:
  // Right before a sample that reads, and at some time after it.
  void before_reading();
  void after_reading(std::uint64_t asked);
  // Some time after a sample that wrote. `pending`: not yet on the device; nothing if not known.
  void after_writing(std::uint64_t written, std::optional<std::uint64_t> pending);

  // Collective: the sums over all ranks.
  void add_up(MPI_Comm comm);
  // "from_cache", a share; nothing where the system of some rank doesn't tell.
  std::map<std::string, Value> facts() const;

 private:
  std::optional<std::uint64_t> fetched_before_;
  double asked_ = 0.0;
  double on_device_ = 0.0;  // bytes fetched from it, or written and there in time
  double unknown_ = 0.0;    // times that the system didn't tell
};

}  // namespace assay
