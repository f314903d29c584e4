// Interdependent messages of one rank, progressed without waiting: the basis of broadcasts and row
// interchanges.
#pragma once

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <cstddef>
#include <vector>

namespace assay::linpack {

// Places and lengths are in units whose size is an argument of Transfers::start(). Messages of one
// tag between two ranks are in the same order on both.
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
  // Sent as soon as this many of the incoming messages, the first ones, have arrived …
  std::size_t after = 0;
  // … and this many of the outgoing ones, the first ones, are complete.
  std::size_t behind = 0;
};

// The messages that one rank receives and sends. Outgoing messages are in the order of their
// dependencies. Messages of length 0 may be left out by both sides.
struct Schedule {
  std::vector<Incoming> incoming;
  std::vector<Outgoing> outgoing;
};

// Calls `done` until it is true. Ranks may share a core, and the network stack may need the core:
// after waiting longer than a short message takes, yields between calls; after waiting longer than
// a context switch takes, sleeps between them. On four virtual hosts that shared two cores,
// successive broadcasts took 17% less time than without the sleep.
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
  // Posts the messages that can be posted. `buffer` has `unit` doubles for each unit of place and
  // length. The schedule and the buffer must exist until done. Uses the tags 2 tag + `side`, with
  // side 0 or 1 for transfers that are active concurrently on the same communicator.
  void start(MPI_Comm comm, const Schedule& schedule, double* buffer, std::size_t unit, int side);

  // Makes progress. True if nothing was started, or if all messages have arrived and all are sent.
  bool progress();

  // Waits until progress() is true.
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
  std::vector<int> completed_;         // indices that MPI reports as complete
  std::vector<bool> over_;             // for each: whether complete
  std::size_t here_ = 0;               // incoming messages, the first ones, that are complete
  std::size_t gone_ = 0;               // the same for outgoing messages
  std::size_t posted_ = 0;             // outgoing messages, complete or not
  std::size_t left_ = 0;               // messages that are not complete
};

}  // namespace assay::linpack
