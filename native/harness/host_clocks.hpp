// How the hosts' clocks read against those of rank 0's host, when a launch begins.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "harness/clock_model.hpp"
#include "harness/global_clock.hpp"
#include "harness/json_writer.hpp"

namespace assay {

// Seconds by which a clock is ahead of another one, and by which that may be wrong at most.
struct ClockOffset {
  double offset = 0.0;
  double error = 0.0;
};

// Of a host's clocks against those of rank 0's host.
struct HostClocks {
  ClockOffset utc;        // CLOCK_REALTIME: the time of day
  ClockOffset monotonic;  // CLOCK_MONOTONIC: the time since the host was started
};

// Nanoseconds of CLOCK_REALTIME since 1970.
Ticks utc_ticks();

// What a model of the reference's clock says of the local one, at its anchor.
ClockOffset offset_of(const ClockModel& model);

// Messages behind an offset: enough for one of them to meet no delay.
constexpr SyncEffort kOneLook{10, 1, 0.0};

// Collective over `comm`, whose ranks sit on `nodes` (by rank); nothing where that is one node.
std::optional<HostClocks> compare_clocks(MPI_Comm comm, const std::vector<int>& nodes,
                                         const LocalClock& utc = utc_ticks,
                                         const LocalClock& monotonic = ticks);

// As the members "utc" and "monotonic" of an object.
void write_clocks(JsonWriter& json, const HostClocks& clocks);

}  // namespace assay
