// Computes for a known time and sends known messages: the argument is the number of iterations
// (10), in each of which every rank computes for 1 ms (rank 1 for 2 ms), sends 1000 doubles to the
// next rank and takes part in one reduction of a double. A second argument is the exit status.
#include <mpi.h>
#include <time.h>

#include <cstdlib>
#include <vector>

namespace {

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void compute(double seconds) {
  const double begin = now();
  while (now() - begin < seconds) {
  }
}

__attribute__((noinline)) void exchange(std::vector<double>& data, int next, int before) {
  MPI_Request requests[2];
  MPI_Irecv(data.data(), 1000, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(data.data() + 1000, 1000, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<double> data(2000);
  for (int i = argc > 1 ? std::atoi(argv[1]) : 10; i > 0; --i) {
    compute(rank == 1 ? 0.002 : 0.001);
    exchange(data, (rank + 1) % size, (rank + size - 1) % size);
    double mine = 1.0, sum = 0.0;
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
