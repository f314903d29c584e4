// The events of a simulation in the order of time.
#pragma once

#include "scheduler/case.hpp"

namespace assay::scheduler {

Schedule simulate(const Case& whole);

}  // namespace assay::scheduler
