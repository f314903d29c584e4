// Offsets of the hosts' clocks from the clocks of rank 0's host, at the start of a launch.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/clock_model.hpp"
#include "harness/global_clock.hpp"
#include "harness/json_writer.hpp"

namespace assay {

// Seconds that one clock is ahead of another, and the maximum error of this offset.
struct ClockOffset {
  double offset = 0.0;
  double error = 0.0;
};

// Offsets of a host's clocks from the clocks of rank 0's host.
struct HostClocks {
  ClockOffset utc;        // CLOCK_REALTIME: the time of day
  ClockOffset monotonic;  // CLOCK_MONOTONIC: the time since the host was started
};

// Nanoseconds of CLOCK_REALTIME since 1970.
Ticks utc_ticks();

// The local clock's offset from the reference that a model gives, at its anchor.
ClockOffset offset_of(const ClockModel& model);

// Messages of one synchronisation: enough for one of them to meet no delay.
constexpr SyncEffort kOneLook{10, 1, 0.0};

// Collective over `comm`, whose ranks are on `nodes` (by rank); does nothing on a single node.
std::optional<HostClocks> compare_clocks(MPI_Comm comm, const std::vector<int>& nodes,
                                         const LocalClock& utc = utc_ticks,
                                         const LocalClock& monotonic = ticks);

// As the members "utc" and "monotonic" of an object.
void write_clocks(JsonWriter& json, const HostClocks& clocks);

}  // namespace assay
