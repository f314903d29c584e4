/* Calls MPI through forwarding.c from known lines, in a known number; the number is in each name.
 */
#include <mpi.h>

int fixed_send(const int* value);
int varying_send(const int* value);

/* 30 calls from one line and 300 from another, in frames of many sizes. */
static int nested(int level) {
  volatile int room[1 + 7 * level];
  room[0] = level;
  int bad = 0;
  for (int i = 0; i < 10; ++i) bad += fixed_send(&level);
  bad += fixed_send(&level);
  return bad + room[0] - level + (level > 1 ? nested(level - 1) : 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int bad = nested(30);
  for (int i = 0; i < 7; ++i) bad += varying_send(&i);
  for (int i = 0; i < 70; ++i) {
    bad += fixed_send(&i);
    bad += i % 2 ? varying_send(&i) : MPI_SUCCESS;
    bad += MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return bad != 0;
}
