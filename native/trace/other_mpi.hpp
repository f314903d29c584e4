// A program whose MPI isn't the one that this library was built for.
#pragma once

namespace assay::trace {

// Whether the program's MPI passes handles differently than this library's MPI. Then all
// functions of this library become jumps to the next ones, with their arguments as they are, and a
// line says so unless the next ones belong to this library for another MPI.
bool other_mpi() noexcept;

}  // namespace assay::trace
