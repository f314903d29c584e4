// Messages of one rank that depend on each other, moved on without waiting: what broadcasts and row
// interchanges are made of.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <cstddef>
#include <vector>

namespace assay::linpack {

// Places and lengths are in units that Transfers::start() gives the size of. Messages of one tag
// between two ranks are in the same order on both.
struct Incoming {
  int from;
  int tag;
  std::size_t begin;
  std::size_t count;
};

struct Outgoing {
  int to;
  int tag;
  std::size_t begin;
  std::size_t count;
  // It goes as soon as so many of the incoming messages, the first ones, are here …
  std::size_t after = 0;
  // … and so many of the outgoing ones, the first ones, are gone.
  std::size_t behind = 0;
};

// What one rank gets and gives. Outgoing messages are in the order of what they wait for. Messages
// of length 0 may be left out, by both sides.
struct Schedule {
  std::vector<Incoming> incoming;
  std::vector<Outgoing> outgoing;
};

// Calls `done` until it is true. Ranks may share a core, and a core's network may need it: who
// waits longer than a short message takes leaves it to others between calls, and who waits longer
// than a switch of the scheduler's sleeps between them. On four virtual hosts that shared two
// cores, broadcasts in a row took a sixth less time than without the sleep.
template <typename Done>
void poll_until(Done done) {
  constexpr int kPolls = 100;
  constexpr int kYields = 2000;
  constexpr timespec kNap{0, 20'000};
  for (int polls = 0; !done(); ++polls) {
    if (polls >= kYields) {
      nanosleep(&kNap, nullptr);
    } else if (polls >= kPolls) {
      sched_yield();
    }
  }
}

class Transfers {
 public:
  // Posts what can be posted. `buffer` has `unit` doubles for each unit of place and length. The
  // schedule and the buffer must stay until done. Tags 2 tag + `side`, 0 or 1: whose transfers on
  // the same communicator may be under way at once.
  void start(MPI_Comm comm, const Schedule& schedule, double* buffer, std::size_t unit, int side);

  // Moves them on. True when all is here and all is gone, and where nothing was started.
  bool progress();

  // Waits for that.
  void finish();

 private:
  void advance(int completed);
  bool done() const { return left_ == 0; }

  MPI_Comm comm_ = MPI_COMM_NULL;
  const Schedule* schedule_ = nullptr;
  double* buffer_ = nullptr;
  std::size_t unit_ = 1;
  int side_ = 0;
  std::vector<MPI_Request> requests_;  // of the incoming messages, then of the outgoing ones
  std::vector<int> completed_;         // what MPI says of them
  std::vector<bool> over_;             // of each: complete
  std::size_t here_ = 0;               // incoming messages, the first ones, that are complete
  std::size_t gone_ = 0;               // outgoing ones
  std::size_t posted_ = 0;             // outgoing ones, complete or not
  std::size_t left_ = 0;               // messages that are not complete
};

}  // namespace assay::linpack
