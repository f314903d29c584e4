// What a rank sees of its node: for `assay why`, which tells slow nodes from slow programs.
#pragma once

#include <cstdint>

namespace assay::trace {

// Of the node of this rank, from the begin of MPI to the profile's end. -1: unknown.
struct NodeState {
  bool known = false;          // ASSAY_PROFILE_NODE is set
  char cpus[256] = {};         // that the main thread may use, as a list of Linux
  std::int64_t online = -1;    // CPUs of the node that are online
  std::int64_t cpu_time = -1;  // of this process, nanoseconds
  std::int64_t computing = 0;  // CPU time of the main thread outside of MPI, nanoseconds
  std::int64_t busy = -1;      // of all processes of the node, nanoseconds
  std::int64_t held = -1;      // held back by a CPU quota of the control group, nanoseconds
  double speed_begin = 0.0;    // dependent operations per second
  double speed_end = 0.0;
};

// The first and the last look. They read files of /proc and /sys and compute for some milliseconds;
// they don't allocate.
void begin_node() noexcept;
// Around each call of the program: CPU time of the main thread between calls.
void enter_mpi() noexcept;
void leave_mpi() noexcept;
const NodeState& end_node() noexcept;

}  // namespace assay::trace
