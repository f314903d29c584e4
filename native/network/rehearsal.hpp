// The expected time of an operation on long messages, from the same operation on shorter ones.
#pragma once

#include <cstddef>
#include <functional>

#include "harness/kernel.hpp"

namespace assay {

// Seconds that `operations` operations with messages of `bytes` are expected to take, the same on
// all ranks; 0 without a deadline and for messages too short to matter. `operate(part)` does one
// operation with `part` bytes (a multiple of 8). Collective.
//
// It is done with a 64th of the bytes, then with an eighth, each twice; the expected time is on the
// straight line through the shorter times of both. If a 64th takes so long that an eighth would
// exceed the deadline, the time is taken as proportional to the bytes, and nothing else is done.
double rehearse(const Context& context, std::size_t bytes, double operations,
                const std::function<void(std::size_t part)>& operate);

}  // namespace assay
