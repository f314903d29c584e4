// The nodes that are down, and the end of each failure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "scheduler/case.hpp"

namespace assay::scheduler {

class Outages {
 public:
  explicit Outages(int nodes) : depth_(nodes), until_(nodes) {}

  bool down(int node) const { return depth_[node] > 0; }
  // The end of the last failure that has begun.
  double until(int node) const { return until_[node]; }
  const std::set<int>& nodes() const { return nodes_; }

  // Returns whether the node was up before.
  bool fail(int node, double end) {
    until_[node] = depth_[node] > 0 ? std::max(until_[node], end) : end;
    nodes_.insert(node);
    return depth_[node]++ == 0;
  }
  // Returns whether it is up again.
  bool repair(int node) {
    if (--depth_[node] > 0) return false;
    nodes_.erase(node);
    return true;
  }

 private:
  std::vector<int> depth_;  // failures at this time, by node
  std::vector<double> until_;
  std::set<int> nodes_;
};

}  // namespace assay::scheduler
