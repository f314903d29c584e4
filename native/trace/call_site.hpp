// The line of the program that calls MPI.
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

// Notes where MPI's libraries are. Returns whether Fortran's calls can be seen. They can't if one
// library has both the Fortran and the C functions, since it may call the latter directly.
bool find_libraries() noexcept;

}  // namespace assay::trace
