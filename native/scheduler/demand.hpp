// The nodes that a job needs, and whether only their number matters.
#pragma once

#include "scheduler/case.hpp"

namespace assay::scheduler {

struct Demand {
  std::int64_t nodes = 0;  // 0: as many as hold `total`
  Amount each;             // of each node, if the number is given
  Amount total;
};

// If all nodes are equal and jobs don't share nodes, the number of nodes is never 0.
Demand demand_of(const Case& whole, const Job& job);

// The fewest nodes that hold the job: for limits of size and the priority's factor of size.
std::int64_t least_nodes(const Case& whole, const Job& job);

// Whether any job can use any free nodes, so that only their number matters.
bool only_counts(const Case& whole);

}  // namespace assay::scheduler
