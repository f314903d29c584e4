// A template and a function without external linkage that call MPI.
#include <mpi.h>

namespace solver {
template <class T>
struct Grid {
  __attribute__((noinline)) void total(T value) {
    T sum{};
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    asm volatile("");
  }
};

namespace {
__attribute__((noinline)) void synchronise() {
  MPI_Barrier(MPI_COMM_WORLD);
  asm volatile("");
}
}  // namespace
}  // namespace solver

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  solver::Grid<double> grid;
  for (int i = 0; i < 5; ++i) {
    grid.total(i);
    solver::synchronise();
  }
  MPI_Finalize();
}
