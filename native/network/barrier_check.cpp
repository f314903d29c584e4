#include "network/barrier_check.hpp"

#include "harness/clock.hpp"

namespace assay {
namespace {

// Seconds; some hundred times the duration of a barrier.
constexpr double kDelay = 300e-6;
// A matched message of one byte has arrived already; the library may need a few calls to report it.
constexpr int kTests = 16;

void arrive_late(const Context& context, BarrierCall barrier, int turn) {
  const Ticks arrival = ticks();
  while (seconds(ticks() - arrival) < kDelay) {
  }
  const char token = static_cast<char>(turn);
  for (int other = 0; other < context.size; ++other) {
    if (other != context.rank) MPI_Ssend(&token, 1, MPI_CHAR, other, turn, context.comm);
  }
  barrier(context.comm);
}

bool left_early(const Context& context, BarrierCall barrier, int late, int turn) {
  char token = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&token, 1, MPI_CHAR, late, turn, context.comm, &request);
  barrier(context.comm);
  int here = 0;
  for (int i = 0; i < kTests && !here; ++i) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
  if (!here) MPI_Wait(&request, MPI_STATUS_IGNORE);
  return !(here && token == static_cast<char>(turn));
}

}  // namespace

Verification verify_barrier(const Context& context, BarrierCall barrier) {
  const int turns[] = {0, context.size / 2, context.size - 1};
  long long early = 0;
  for (int turn = 0; turn < 3; ++turn) {
    if (turn > 0 && turns[turn] == turns[turn - 1]) continue;
    if (context.rank == turns[turn]) {
      arrive_late(context, barrier, turn);
    } else {
      early += left_early(context, barrier, turns[turn], turn) ? 1 : 0;
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_LONG_LONG, MPI_SUM, context.comm);
  return {early == 0, "ranks that left a barrier before the last one had entered it",
          static_cast<double>(early), 0.0};
}

}  // namespace assay
