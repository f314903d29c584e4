// The clocks of the hosts: the ranks that share a clock, and the offsets between clocks.
#pragma once

#include <cstddef>

namespace assay::trace {

// A text that is equal for processes for which CLOCK_MONOTONIC is the same clock: boot, time
// namespace and the injected error (ASSAY_TRACE_CLOCK).
void clock_domain(char* text, std::size_t size) noexcept;

// Collective over MPI_COMM_WORLD unless all ranks are known to be on this host: compares the clocks
// once, and records it in the trace. `first`: whether MPI has just begun.
void compare_clocks(bool first) noexcept;
// Collective, after a collective on MPI_COMM_WORLD in which all ranks wait: from time to time,
// compares the clocks again.
void after_world_collective() noexcept;
void end_clocks() noexcept;

}  // namespace assay::trace
