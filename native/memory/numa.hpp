// NUMA node of memory: set and queried by system calls, without a library.
#pragma once

#include <cstddef>

#include "harness/kernel.hpp"

namespace assay {

// Places all pages of the mapping, none of which may have been touched, on that node. `start` is
// page-aligned. KernelError if the system refuses.
void bind_memory(void* start, std::size_t bytes, int node);

// The node of the touched page at this address; -1 if the system doesn't report it.
int node_of_page(void* address);

// Reads the parameter "memory_node": -1 (memory is placed by first touch) or a node, which must
// exist. The context's available memory is reduced to the node's, if that is less.
int read_memory_node(Parameters& parameters, Context& context);

}  // namespace assay
