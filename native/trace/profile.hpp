// The profile of this process: switches, times, requests, and its file.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::trace {

// What a persistent request sends or receives at each start.
struct Persistent {
  enum Kind : std::int32_t { kFree, kRemoved, kSend, kReceive, kCollective };
  std::uint64_t request = 0;
  std::int64_t bytes = 0;
  std::int32_t peer = 0;
  std::int32_t tag = -1;
  std::uint64_t comm = 0;    // its handle
  std::int32_t root = -1;    // of a collective, as traces have it
  std::int64_t number = -1;  // of a collective: among those that the trace has the begin of
  Kind kind = kFree;
  bool active = false;
  bool partitioned = false;
  bool device = false;  // whether its buffer is memory of a device
};

constexpr std::uint32_t kPersistent = 1U << 13;

struct Profile {
  std::atomic<bool> on{false};
  std::atomic<bool> alive{false};      // between the begin and the end of MPI
  std::atomic<bool> has_world{false};  // between MPI_Init and MPI_Finalize
  std::atomic<std::int64_t> unfinished{0};
  std::atomic<std::int64_t> sessions{0};
  std::uint64_t begin = 0;  // CLOCK_MONOTONIC, nanoseconds
  std::uint64_t end = 0;
  std::uint64_t begin_wall = 0;    // CLOCK_REALTIME, nanoseconds
  std::int64_t cpu_wait = -1;      // of the main thread at begin, nanoseconds; -1: unknown
  std::uint64_t since = 0;         // when counting was last switched on
  std::uint64_t counted = 0;       // nanoseconds of the regions before that
  std::int64_t waited_since = -1;  // cpu_wait() when counting was last switched on
  std::int64_t waited = 0;         // without a CPU in the regions before that, nanoseconds
  std::uint64_t runs = 0;          // calls of MPI_Pcontrol with a level other than 0
  std::uint64_t cost = 0;          // of this library per call, nanoseconds
  int process = 0;
  int rank = -1;
  int size = 0;
  int level = 0;              // the thread level that MPI provides
  bool has_sessions = false;  // MPI was started by a session
  bool fortran = true;
  bool persistent_lost = false;
  Persistent persistent[kPersistent];
};

Profile& profile();
std::uint64_t now();

// Nanoseconds that the main thread was runnable without a CPU; -1 if the kernel doesn't report it.
// Doesn't allocate.
std::int64_t cpu_wait() noexcept;

// Finds a persistent request; `make`: a slot for it if there is none. nullptr: not there, or no
// room.
Persistent* persistent_of(std::uint64_t request, bool make);

void begin_profile();
void switch_profile(int level);  // MPI_Pcontrol
// Of the regions in which counting was on, the last one so far: nanoseconds, and of them those
// without a CPU (-1: unknown).
std::uint64_t counted_time(std::uint64_t until) noexcept;
std::int64_t counted_wait() noexcept;
void say_fortran() noexcept;  // that calls of Fortran can't be seen

// Writes the file, and what is pending of the trace. Doesn't call MPI, doesn't allocate; at most
// one line on stderr.
void write_profile(const char* ended) noexcept;

// Ends the trace, if there is one that has not ended; or writes its pending part.
void finish_trace(const char* ended) noexcept;
void flush_trace() noexcept;

}  // namespace assay::trace
