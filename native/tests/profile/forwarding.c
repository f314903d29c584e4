/* Stands for MPI's Fortran library: functions that pass calls on, in frames of two kinds. */
#include <mpi.h>

/* The frame always has the same size. */
int fixed_send(const int* value) {
  volatile int copies[100];
  copies[*value] = *value;
  const int sent = copies[*value];
  const int result = MPI_Send(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return result + copies[*value] - sent;
}

/* Its size depends on the value. */
int varying_send(const int* value) {
  volatile int copies[1 + 50 * (*value % 4)];
  copies[0] = *value;
  const int sent = copies[0];
  const int result = MPI_Ssend(&sent, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  return result + copies[0] - sent;
}
