// Lines of Python that call MPI, through a module such as mpi4py.
#pragma once

#include <cstdint>

namespace assay::trace {

// A line of a Python program.
struct PythonSite {
  const void* code = nullptr;  // the function's code object, which is kept
  int line = 0;
  char file[512] = {};
  char function[128] = {};
};

// The line that runs now, if `site` is in an extension module of Python; else `site`. The number of
// such a line is the address of its PythonSite. Waits for the interpreter's lock.
std::uint64_t python_site(std::uint64_t site) noexcept;

// The line of that number; nullptr: it is an address of code.
const PythonSite* python_line(std::uint64_t site) noexcept;

}  // namespace assay::trace
