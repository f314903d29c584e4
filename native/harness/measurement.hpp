// One measurement from its begin record to its measurement record.
#pragma once

#include "harness/launch.hpp"

namespace assay {

enum class Outcome { kGood, kBad, kInterrupted };

// Collective. `stream` is null on all ranks but 0. kBad: failed or not verified.
Outcome measure(Launch& launch, const Order& order, Covariates& covariates, Stream* stream);

}  // namespace assay
