// The present latency of memory.
#pragma once

#include <optional>

namespace assay {

// Seconds of a load that misses all caches: the mean over a chain of 32 dependent loads of lines
// flushed just before, minimum of three rounds, some 20 µs in all. It grows when other processes
// keep the memory busy. Nothing where lines can't be flushed.
std::optional<double> memory_latency();

}  // namespace assay
