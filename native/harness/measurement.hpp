// One measurement from its begin record to its measurement record.
#pragma once

#include "harness/launch.hpp"
#include "harness/traffic.hpp"

namespace assay {

enum class Outcome { kGood, kBad, kInterrupted };

// What all measurements of a launch read around their samples.
struct Surroundings {
  Covariates& covariates;
  Traffic& traffic;
};

// Collective. `stream` is null on all ranks but 0. kBad: failed or not verified.
Outcome measure(Launch& launch, const Order& order, const Surroundings& surroundings,
                Stream* stream);

}  // namespace assay
