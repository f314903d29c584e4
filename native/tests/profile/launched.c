/* A ring with messages of one int and without data, under any launcher. "spawn N": it spawns itself
 * N times on three ranks; spawned, it sums seven times. "fork": a child ends by itself. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static void exchange(int value) {
  int rank, size, got = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int after = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Sendrecv(&value, 1, MPI_INT, after, 3, &got, 1, MPI_INT, before, 3, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(NULL, 0, MPI_INT, after, 4, NULL, 0, MPI_INT, before, 4, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  __asm__ volatile("");
}

__attribute__((noinline)) static void total(int times) {
  for (int i = 0, sum = 0; i < times; ++i) {
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  MPI_Comm parent = MPI_COMM_NULL, other = MPI_COMM_NULL;
  const char* what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    total(7);
    MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  for (int i = 0; i < 10; ++i) exchange(i);
  total(5);
  const int times = strcmp(what, "spawn") == 0 && argc > 2 ? atoi(argv[2]) : 0;
  for (int i = 0; i < times; ++i) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other,
                   MPI_ERRCODES_IGNORE);
    MPI_Barrier(other);
    MPI_Comm_disconnect(&other);
  }
  if (strcmp(what, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, NULL, 0);
  }
  MPI_Finalize();
  return 0;
}
