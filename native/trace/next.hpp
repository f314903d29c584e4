// The functions behind those of this library: MPI's, or those of another tool.
#pragma once

#include <mpi.h>

#include <cstdint>

// Open MPI's handles are addresses of its variables, which a program without MPI lacks.
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_request_null

namespace assay::trace {

// The next definition of a symbol after this library's; nullptr if there is none.
void* next(const char* symbol) noexcept;

// A function of MPI that the library itself calls.
#define ASSAY_MPI(Name)                                                                  \
  ([] {                                                                                  \
    static const auto found =                                                            \
        reinterpret_cast<decltype(&::PMPI_##Name)>(::assay::trace::next("PMPI_" #Name)); \
    return found;                                                                        \
  }())

// Whether a loaded file is one of MPI's libraries, by its name.
bool is_mpi_library(const char* path) noexcept;

}  // namespace assay::trace
