// Which line of the program calls MPI.
#pragma once

#include <cstdint>

namespace assay::trace {

// The call site: the first return address outside MPI's own libraries, through which Fortran's
// calls come. `address`: to which the wrapper returns; `frame`: the wrapper's own.
std::uint64_t call_site(void* address, void* frame) noexcept;

// The number of the line of the program that calls: its call site, or that of a line of Python.
std::uint64_t program_site(void* address, void* frame) noexcept;

// Where a site is: the file that contains it, the offset of its address there, or its line; and of
// Python the function, otherwise nullptr. "" and the number itself where the file is unknown.
struct SiteName {
  const char* image;
  std::uint64_t offset;
  const char* function;
};
SiteName name_of(std::uint64_t site) noexcept;

// Notes where MPI's libraries are. Returns whether the calls of Fortran can be seen: not if the
// library that has them has the C functions too, since it may call these directly.
bool find_libraries() noexcept;

}  // namespace assay::trace
