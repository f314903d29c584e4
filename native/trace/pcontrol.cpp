// MPI_Pcontrol switches counting. MPI itself does nothing in it, and its Fortran functions may not
// call the C one.
#include <mpi.h>

#include "next.hpp"
#include "profile.hpp"

extern "C" {

int MPI_Pcontrol(const int level, ...) {
  assay::trace::switch_profile(level);
  const auto behind = ASSAY_NEXT(MPI_Pcontrol);
  return behind ? behind(level) : MPI_SUCCESS;
}

void mpi_pcontrol_(const MPI_Fint* level) { MPI_Pcontrol(static_cast<int>(*level)); }
void mpi_pcontrol__(const MPI_Fint* level) { MPI_Pcontrol(static_cast<int>(*level)); }
void mpi_pcontrol_f08_(const MPI_Fint* level) { MPI_Pcontrol(static_cast<int>(*level)); }

}  // extern "C"
