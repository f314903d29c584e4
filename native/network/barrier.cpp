// network.barrier: MPI_Barrier over all ranks, one after the other.
#include "harness/clock.hpp"
#include "harness/kernel.hpp"

namespace assay {
namespace {

class Barrier : public Kernel {
 public:
  Barrier(const Context& context, Parameters&) : context_(context) {
    if (context.size < 2) throw KernelError("network.barrier needs at least two ranks");
  }

  void setup() override {}

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) MPI_Barrier(context_.comm);
  }

  // No rank may leave a barrier before the last one has entered it. Clocks of different nodes can't
  // tell, messages can: a late rank waits, then tells every other rank by a synchronous send, which
  // returns only once the other's receive (posted before it entered the barrier) has been matched,
  // and only then enters. Whoever leaves the barrier must therefore hold the late rank's message.
  // Three ranks take their turn at being late: first, middle and last.
  Verification verify() override {
    const int turns[] = {0, context_.size / 2, context_.size - 1};
    long long early = 0;
    for (int turn = 0; turn < 3; ++turn) {
      if (turn > 0 && turns[turn] == turns[turn - 1]) continue;
      early += context_.rank == turns[turn] ? arrive_late(turn) : left_early(turns[turn], turn);
    }
    MPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_LONG_LONG, MPI_SUM, context_.comm);
    return {early == 0, "ranks that left a barrier before the last one had entered it",
            static_cast<double>(early), 0.0};
  }

 private:
  // Seconds; some hundred times what it takes a rank to pass a barrier that does not hold it back.
  static constexpr double kDelay = 300e-6;
  // A matched message of one byte is there at once; the library may need a few calls to say so.
  static constexpr int kTests = 16;

  long long arrive_late(int turn) const {
    const Ticks arrival = ticks();
    while (seconds(ticks() - arrival) < kDelay) {
    }
    const char token = static_cast<char>(turn);
    for (int other = 0; other < context_.size; ++other) {
      if (other != context_.rank) MPI_Ssend(&token, 1, MPI_CHAR, other, turn, context_.comm);
    }
    MPI_Barrier(context_.comm);
    return 0;
  }

  long long left_early(int late, int turn) const {
    char token = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&token, 1, MPI_CHAR, late, turn, context_.comm, &request);
    MPI_Barrier(context_.comm);
    int here = 0;
    for (int i = 0; i < kTests && !here; ++i) MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    if (!here) MPI_Wait(&request, MPI_STATUS_IGNORE);
    return here && token == static_cast<char>(turn) ? 0 : 1;
  }

  Context context_;
};

ASSAY_KERNEL("network.barrier", Barrier);

}  // namespace
}  // namespace assay
