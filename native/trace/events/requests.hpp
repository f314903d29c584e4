// The requests that the program has begun but not completed, in constant memory.
#pragma once

#include <cstdint>

namespace assay::trace {

struct ActiveRequest {
  std::uint64_t handle = 0;
  std::uint64_t id = 0;     // requests begun before it
  std::uint64_t comm = 0;   // handle of the communicator of a receive
  std::int32_t source = 0;  // that a receive asked for: a world rank, kAny, kNull or kUnknownPeer
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  bool receives = false;
  bool cancelled = false;
  bool claimed = false;
  std::uint32_t next = 0;  // of the same bucket: its place + 1
};

class Requests {
 public:
  static constexpr std::uint32_t kMost = 1U << 15;

  // nullptr: no room. The caller fills it in.
  ActiveRequest* add(std::uint64_t handle);
  // The oldest request with this handle that no call has claimed; nullptr: there is none. MPI may
  // give one handle to several requests that were complete at once.
  ActiveRequest* find(std::uint64_t handle);
  // Claims it for a call that may complete it: MPI may give its handle to another request before
  // the call ends. Its place, which is then released or taken; 0: there is none.
  std::uint32_t claim(std::uint64_t handle);
  void release(std::uint32_t place) { nodes_[place - 1].claimed = false; }
  ActiveRequest take(std::uint32_t place);

 private:
  static constexpr std::uint32_t kBuckets = 1U << 14;
  static std::uint32_t bucket(std::uint64_t handle) {
    return static_cast<std::uint32_t>((handle * 0x9e3779b97f4a7c15ULL) >> 50);
  }

  ActiveRequest nodes_[kMost] = {};
  std::uint32_t first_[kBuckets] = {};  // places + 1; 0: none
  std::uint32_t free_ = 0;
  std::uint32_t fresh_ = 0;  // nodes that were never used
};

}  // namespace assay::trace
