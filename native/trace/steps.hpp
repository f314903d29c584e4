// Marks the steps of a program for `assay watch`: each call from one call site ends a step.
#pragma once

#include <cstdint>

namespace assay::trace {

// Whether a call site is wanted, and its number (call_site.hpp); 0 if it is not known yet.
extern bool step_wanted;
extern std::uint64_t step_site;

// Reads ASSAY_STEP_SITE="OFFSET FILE" (as in the profile's `offset` and `image`). Once, when MPI
// starts.
void find_step_site() noexcept;

// Notes the number of a new line of Python, which may be the wanted line.
void python_step(const char* file, int line, std::uint64_t number) noexcept;

// Marks the end of a step.
void mark_step() noexcept;

}  // namespace assay::trace
