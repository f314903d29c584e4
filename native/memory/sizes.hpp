// Sizes of arrays: how large they must be, and agreement of all ranks on one size.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "harness/kernel.hpp"

namespace assay {

// Assumed size of the caches if the system doesn't report it.
constexpr std::size_t kAssumedCaches = std::size_t{64} << 20;

// Bytes of the last-level caches of a node.
inline std::size_t node_caches(const Context& context) {
  return context.caches.last_level_node > 0 ? context.caches.last_level_node : kAssumedCaches;
}

// Collective. Work is counted as ranks times elements, so all ranks must use one size. This is the
// largest size if nodes have different numbers of ranks or see different memory.
inline std::size_t greatest_of_ranks(MPI_Comm comm, std::size_t size) {
  auto greatest = static_cast<std::uint64_t>(size);
  MPI_Allreduce(MPI_IN_PLACE, &greatest, 1, MPI_UINT64_T, MPI_MAX, comm);
  return greatest;
}

}  // namespace assay
