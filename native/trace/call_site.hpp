// Which line of the program calls MPI.
#pragma once

#include <cstdint>

namespace assay::trace {

// The call site: the first return address outside MPI's own libraries, through which Fortran's
// calls come. `address`: to which the wrapper returns; `frame`: the wrapper's own.
std::uint64_t call_site(void* address, void* frame) noexcept;

// Notes where MPI's libraries are. Returns whether the calls of Fortran can be seen: not if the
// library that has them has the C functions too, since it may call these directly.
bool find_libraries() noexcept;

}  // namespace assay::trace
