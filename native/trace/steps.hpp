// Marks the steps of a program for `assay watch`: each call from one call site ends a step.
#pragma once

#include <cstdint>

namespace assay::trace {

// The address of that call site; 0: none is wanted, or its file isn't loaded.
extern std::uint64_t step_site;

// Reads ASSAY_STEP_SITE="OFFSET FILE" (as in the profile's `offset` and `image`). Once, when MPI
// starts.
void find_step_site() noexcept;

// Marks the end of a step.
void mark_step() noexcept;

}  // namespace assay::trace
