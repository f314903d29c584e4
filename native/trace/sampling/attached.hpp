// What the library that samples call stacks and the profiling library for MPI know of each other.
// Each works without the other; the latter finds the functions by their names.
#pragma once

#include <cstdint>

namespace assay::trace {

// A rank of an MPI program.
struct SampledRank {
  int rank = -1;  // -1: no world
  int size = 0;
  const char* stem = nullptr;    // of the rank's files; lives as long as the process
  std::uint64_t begin = 0;       // of its profile: CLOCK_MONOTONIC, ns
  int (*inside)() = nullptr;     // whether the calling thread is in a call of MPI
  bool (*recorded)() = nullptr;  // whether counting is on (MPI_Pcontrol)
};

}  // namespace assay::trace

extern "C" {
void assay_sampling_attach(const assay::trace::SampledRank* rank);
// Writes what is pending: the process may be ended before it can.
void assay_sampling_flush(void);
}
