// The program of tests/native/trace/test_languages.py in C; four_languages.f90.in is the same.
#include <mpi.h>
int main(int argc, char** argv) {
  int rank, ranks, out[64] = {0}, got[64], done;
  MPI_Comm comm;
  MPI_Request r[2];
  MPI_Status s;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 3; ++i) {
    MPI_Irecv(got, 8, MPI_INT, before, 1, comm, &r[0]);
    MPI_Isend(out, 8, MPI_INT, next, 1, comm, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Sendrecv(out, 5, MPI_INT, next, 2, got, 5, MPI_INT, before, 2, comm, &s);
  if (rank == 0) MPI_Send(out, 7, MPI_INT, 1, 3, comm);
  if (rank == 1) MPI_Recv(got, 7, MPI_INT, 0, 3, comm, &s);
  MPI_Irecv(got, 2, MPI_INT, before, 4, comm, &r[0]);
  MPI_Ssend(out, 2, MPI_INT, next, 4, comm);
  MPI_Wait(&r[0], &s);
  MPI_Barrier(comm);
  MPI_Bcast(out, 4, MPI_INT, 0, comm);
  MPI_Allreduce(out, got, 6, MPI_INT, MPI_SUM, comm);
  MPI_Iallreduce(out, got, 6, MPI_INT, MPI_SUM, comm, &r[0]);
  MPI_Wait(&r[0], &s);
  MPI_Test(&r[0], &done, &s);
  MPI_Alltoall(out, 1, MPI_INT, got, 1, MPI_INT, comm);
  MPI_Pcontrol(0);
  MPI_Barrier(comm);
  MPI_Pcontrol(1);
  MPI_Comm_free(&comm);
  MPI_Finalize();
}
