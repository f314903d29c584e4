// How long the memory takes to answer right now.
#pragma once

#include <optional>

namespace assay {

// Seconds of a load that no cache holds: the mean over a chain of 32 dependent loads of lines that
// were flushed just before, the least of three rounds, some 20 µs in all. It grows when others keep
// the memory busy. Nothing where lines can't be flushed.
std::optional<double> memory_latency();

}  // namespace assay
