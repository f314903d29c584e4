// Whether the MPI library has persistent collectives and partitioned communication (MPI-4.0).
#pragma once

#include <mpi.h>

#include "harness/kernel.hpp"

// Open MPI has both from 5.0 on, which otherwise calls itself MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define ASSAY_HAVE_MPI_4 1
#endif

namespace assay {

// For builds with an older library. `what`: the operation.
[[noreturn]] inline void throw_no_mpi_4(const std::string& what) {
  throw KernelError(what + " needs MPI 4 (MPICH 4, Open MPI 5), which this MPI library isn't");
}

}  // namespace assay
