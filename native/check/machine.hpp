// What the measurements need to know of this node.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/topology.hpp"

namespace assay::check {

struct Machine {
  // One hardware thread of each core that this process may use, package by package. Two hardware
  // threads of a core share its units, so a second one adds no load, only the question which of
  // both was slow.
  std::vector<Cpu> cores;
  // Bytes of all last-level caches over these cores, and of the largest one that the first core of
  // a NUMA node has.
  std::size_t caches = 0;
  std::size_t cache_of_core = 0;
};

// Throws KernelError if the system doesn't say which CPUs may be used.
Machine read_machine();

// Throws KernelError, with the numbers, if `bytes` exceed half of the memory that is available
// here: on the node, or below a limit of a control group. `what` names the data, in the plural.
void require_memory(double bytes, const std::string& what);

// Bytes available to a process of this control group, from the texts of its memory limit and its
// use; the greatest double without a limit.
double available_below(const std::string& limit, const std::string& use);

}  // namespace assay::check
