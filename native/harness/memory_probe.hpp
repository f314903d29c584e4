// The present latency of memory.
#pragma once

#include <optional>

namespace assay {

// Seconds of a load that misses all caches: the mean over a chain of 32 dependent loads of lines
// flushed just before, minimum of three rounds, about 20 µs in total. It grows when other processes
// keep the memory busy. Nothing if lines can't be flushed.
std::optional<double> memory_latency();

}  // namespace assay
