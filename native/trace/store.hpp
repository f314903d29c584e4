// A rank's records, in constant memory: static arrays, no allocation.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::trace {

// Special values of world ranks.
constexpr std::int32_t kNoPeer = -1;       // the function has no peer
constexpr std::int32_t kNull = -2;         // MPI_PROC_NULL
constexpr std::int32_t kAny = -3;          // MPI_ANY_SOURCE
constexpr std::int32_t kUnknownPeer = -4;  // not in MPI_COMM_WORLD, or there is none

// Calls of one function from one call site, with one peer and one size class.
struct Entry {
  std::uint64_t site = 0;
  std::int32_t function = -1;  // -1: the slot is free
  std::int32_t peer = kNoPeer;
  std::int32_t size_class = 0;  // 0: no bytes; k: at least 2^(k-1) and less than 2^k bytes
  std::uint32_t reserved = 0;
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;  // tests whose flag was 0
  std::uint64_t bytes = 0;
  std::uint64_t device_calls = 0;  // whose bytes were in the memory of a device
  std::uint64_t device_bytes = 0;
  std::uint64_t total = 0;  // nanoseconds, like the next two
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// Bytes that this rank sent to another rank individually.
struct PeerBytes {
  std::int32_t peer = kNoPeer;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

struct Communicator {
  std::uint64_t handle = 0;
  std::int32_t made_by = -1;
  std::int32_t size = 0;
  bool freed = false;
  char name[64] = {};
};

constexpr std::uint32_t kEntries = 1U << 15;
constexpr std::uint32_t kPeers = 1U << 14;
constexpr std::uint32_t kCommunicators = 1U << 10;

class Store {
 public:
  // For one thread at a time: hold the lock.
  class Lock {
   public:
    explicit Lock(Store& store) : store_(store) {
      while (store_.busy_.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~Lock() { store_.busy_.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Store& store_;
  };

  // Takes the lock if it becomes free within some milliseconds: for a process that is ending.
  class Attempt {
   public:
    explicit Attempt(Store& store) : store_(store) {
      for (int i = 0; i < 1'000'000 && !held_; ++i) {
        held_ = !store_.busy_.test_and_set(std::memory_order_acquire);
      }
    }
    ~Attempt() {
      if (held_) store_.busy_.clear(std::memory_order_release);
    }
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;
    [[nodiscard]] bool held() const { return held_; }

   private:
    Store& store_;
    bool held_ = false;
  };

  // The entry of a key, or the entry for all calls without room.
  Entry& entry(std::int32_t function, std::uint64_t site, std::int32_t peer, std::uint64_t bytes);
  void sent(std::int32_t peer, std::uint64_t bytes);
  // Removes the only call so far.
  void forget(std::int32_t function, std::uint64_t site, std::int32_t peer, std::uint64_t bytes);
  void made(std::uint64_t handle, std::int32_t by, std::int32_t size, const char* name);
  Communicator* communicator(std::uint64_t handle);

  void limit(std::uint32_t entries);  // fewer entries than there is room for, for tests

  Entry entries[kEntries];
  Entry overflow;
  PeerBytes peers[kPeers];
  PeerBytes other_peers;  // those for which there was no room
  Communicator communicators[kCommunicators];
  std::uint32_t used_entries = 0;
  std::uint32_t used_communicators = 0;
  std::uint64_t lost_communicators = 0;

 private:
  friend class Lock;
  friend class Attempt;
  std::atomic_flag busy_;
  std::uint32_t limit_ = kEntries / 4 * 3;
};

Store& store();

}  // namespace assay::trace
