// The trace of this process: the events to encode, and the objects that they refer to.
#pragma once

#include <atomic>
#include <cstdint>

#include "events/encoder.hpp"
#include "events/requests.hpp"
#include "files/file.hpp"

namespace assay::trace {

constexpr std::uint32_t kNoCommunicator = 0xffff;

// For one thread at a time, except `active`: hold the lock of the store.
class Tracer {
 public:
  // Whether ASSAY_PROFILE_TRACE asks for a trace.
  static bool asked_for() noexcept;
  // Encodes an artificial event, to measure how long this takes. Only before `start`.
  void practise(std::uint64_t number) noexcept;
  // Begins the trace if ASSAY_PROFILE_TRACE asks for it. `begin`: CLOCK_MONOTONIC, ns.
  void start(std::uint64_t begin, std::uint64_t begin_wall, int rank, int size) noexcept;
  // Whether a trace was requested: equal on all ranks, even if some can't write it.
  [[nodiscard]] bool wanted() const { return wanted_; }
  [[nodiscard]] bool active() const { return active_.load(std::memory_order_relaxed); }

  // Times are absolute. Completions beyond kLongestList take further events of no duration.
  void add(Event event, bool failed_test) noexcept;

  std::int64_t site(std::uint64_t address) noexcept;
  void function(std::int32_t function) noexcept;

  // `members`: JSON of runs of world ranks, or nullptr; `remote`: those of the other group of an
  // intercommunicator, otherwise nullptr. Its number; -1: there are too many.
  std::int64_t communicator(std::uint64_t handle, std::uint32_t parent, std::int32_t made_by,
                            const char* members, const char* remote) noexcept;
  // The number of a group of ranks, by its members as JSON; -1: there are too many.
  std::int64_t group(const char* members) noexcept;
  // The number of the next persistent collective.
  std::int64_t next_collective() noexcept { return collectives_++; }
  [[nodiscard]] std::uint32_t number_of(std::uint64_t handle) const;
  // Files and windows have the number of the communicator that they were made from.
  void alias(std::uint64_t handle, std::uint32_t number) noexcept;
  void forget(std::uint64_t handle) noexcept;

  // The request that the next event begins; nullptr without room.
  ActiveRequest* begin_request(std::uint64_t handle) noexcept;
  [[nodiscard]] std::uint64_t requests_begun() const { return begun_; }
  Requests& requests() { return requests_; }

  void clock(const char* json) noexcept { metadata(json); }
  // MPI_Pcontrol switched the recording on or off; `time` is absolute, ns.
  void switched(std::uint64_t time, bool on) noexcept;

  void flush_all() noexcept;
  // Writes what is pending, and the end. Doesn't allocate.
  void finish(const char* ended, std::uint64_t end) noexcept;

 private:
  __attribute__((format(printf, 2, 3))) void print(const char* format, ...) noexcept;
  void metadata(const char* text) noexcept;
  void quoted(const char* text) noexcept;
  std::int64_t image_of(const char* name) noexcept;
  void put(const Event& event) noexcept;
  void put_test() noexcept;
  void flush(std::uint64_t time) noexcept;

  struct Numbered {
    std::uint64_t handle = 0;
    std::uint32_t number = 0;
    bool used = false;
  };
  struct Site {
    std::uint64_t address = 0;
    std::int64_t number = 0;
  };
  static constexpr std::uint32_t kNumbered = 1U << 12;
  static constexpr std::uint32_t kSites = 1U << 13;
  static constexpr std::uint32_t kMostFunctions = 512;

  std::atomic<bool> active_{false};
  bool wanted_ = false;
  bool started_ = false;
  TraceFile file_;
  Encoder encoder_;
  Requests requests_;
  Counts counts_;              // since the last flush
  std::uint64_t begun_ = 0;    // requests
  std::uint64_t begin_ = 0;    // of the trace
  std::uint64_t flushed_ = 0;  // time of the last flush
  Event test_{};               // failed tests that further ones may join
  bool has_test_ = false;
  std::uint64_t last_time_ = 0;
  std::uint64_t lost_requests_ = 0;
  std::uint64_t lost_events_ = 0;
  Numbered numbered_[kNumbered] = {};
  std::uint32_t communicators_ = 0;
  std::int64_t collectives_ = 0;
  static constexpr std::int64_t kGroups = 1024;
  std::uint64_t groups_[kGroups] = {};  // hashes of their members
  std::int64_t group_count_ = 0;
  Site sites_[kSites] = {};
  std::int64_t site_count_ = 0;
  static constexpr std::int64_t kImages = 64;
  const char* images_[kImages] = {};
  std::int64_t image_count_ = 0;
  bool functions_[kMostFunctions] = {};
  char path_[4096] = {};
  char text_[1U << 16] = {};
  std::uint32_t text_used_ = 0;
  bool text_lost_ = false;
};

Tracer& tracer();

}  // namespace assay::trace
