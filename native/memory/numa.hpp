// On which NUMA node memory lies: told and asked by system calls, without a library.
#pragma once

#include <cstddef>

#include "harness/kernel.hpp"

namespace assay {

// Makes all pages of the mapping, none of which may have been touched, lie on that node. `start` is
// aligned to a page. KernelError if the system refuses.
void bind_memory(void* start, std::size_t bytes, int node);

// The node that the touched page at this address lies on; -1 if the system doesn't tell.
int node_of_page(void* address);

// Reads the parameter "memory_node": -1, memory lies where it is touched first, or the node that it
// shall lie on, which must be there. The context's memory becomes that of the node, if it has less.
int read_memory_node(Parameters& parameters, Context& context);

}  // namespace assay
