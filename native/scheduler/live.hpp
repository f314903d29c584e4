// State of a job during the simulation.
#pragma once

#include <vector>

namespace assay::scheduler {

struct Live {
  double submit = 0;  // of this submission: a job that is resubmitted has a later one
  double limit = 0;   // doubled when it is resubmitted
};

using LiveJobs = std::vector<Live>;

}  // namespace assay::scheduler
