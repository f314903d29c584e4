#include "network/barrier_check.hpp"

#include <cstddef>
#include <vector>

#include "harness/clock.hpp"

namespace assay {
namespace {

// Seconds; some hundred times the duration of a barrier.
constexpr double kDelay = 1e-3;
// A matched message of one byte has arrived already; the library may need a few calls to report it.
constexpr int kTests = 16;
// What the late rank sends.
constexpr char kInTime = 0, kLeftEarly = 1;

constexpr int kTags = 3;
int arrived(int turn) { return kTags * turn; }
int left(int turn) { return kTags * turn + 1; }
int late(int turn) { return kTags * turn + 2; }

// A delay that began with this rank's own arrival would be over before a rank without a CPU
// arrives.
void await_others(const Context& context, int turn) {
  char token = 0;
  for (int other = 0; other < context.size; ++other) {
    if (other == context.rank) continue;
    MPI_Recv(&token, 1, MPI_CHAR, other, arrived(turn), context.comm, MPI_STATUS_IGNORE);
  }
}

void arrive_late(const Context& context, BarrierCall barrier, int turn) {
  const auto size = static_cast<std::size_t>(context.size);
  std::vector<char> tokens(size);
  std::vector<int> seen(size, 0);
  std::vector<MPI_Request> leaving(size, MPI_REQUEST_NULL);
  for (int other = 0; other < context.size; ++other) {
    if (other == context.rank) continue;
    const auto i = static_cast<std::size_t>(other);
    MPI_Irecv(&tokens[i], 1, MPI_CHAR, other, left(turn), context.comm, &leaving[i]);
  }
  await_others(context, turn);
  const Ticks arrival = ticks();
  int all = 0;
  while (!all && seconds(ticks() - arrival) < kDelay) {
    all = 1;
    for (std::size_t i = 0; i < size; ++i) {
      if (!seen[i]) MPI_Test(&leaving[i], &seen[i], MPI_STATUS_IGNORE);
      all = all && seen[i];
    }
  }
  for (int other = 0; other < context.size; ++other) {
    if (other == context.rank) continue;
    const char token = seen[static_cast<std::size_t>(other)] ? kLeftEarly : kInTime;
    MPI_Ssend(&token, 1, MPI_CHAR, other, late(turn), context.comm);
  }
  barrier(context.comm);
  MPI_Waitall(context.size, leaving.data(), MPI_STATUSES_IGNORE);
}

bool left_early(const Context& context, BarrierCall barrier, int last, int turn) {
  char token = kLeftEarly;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&token, 1, MPI_CHAR, last, late(turn), context.comm, &request);
  MPI_Send(&kInTime, 1, MPI_CHAR, last, arrived(turn), context.comm);
  barrier(context.comm);
  MPI_Send(&kInTime, 1, MPI_CHAR, last, left(turn), context.comm);
  int here = 0;
  for (int i = 0; i < kTests && !here; ++i) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
  if (!here) MPI_Wait(&request, MPI_STATUS_IGNORE);
  return !here || token != kInTime;
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
