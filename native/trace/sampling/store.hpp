// The samples of this process in constant memory, and their file (docs/formats/samples.md).
#pragma once

#include <stdarg.h>

#include <atomic>
#include <cstdint>

#include "files/file.hpp"
#include "sampling/code_map.hpp"
#include "sampling/counters.hpp"
#include "sampling/walk.hpp"

namespace assay::trace {

enum Activity : std::uint8_t { kComputing = 0, kInMpi = 1 };

struct Sample {
  std::uint64_t time = 0;  // CLOCK_MONOTONIC, ns
  std::uint32_t stack = 0;
  std::uint32_t thread = 0;  // its number, and from bit 24 on the activity
};
static_assert(sizeof(Sample) == 16);

// Handlers of several threads use it at once. None waits for long: what has no room is lost.
class SampleStore {
 public:
  // Names the file, which is made when there is something to write.
  void prepare() noexcept;
  // False: it was lost.
  bool add(std::uint64_t time, std::uint32_t thread, Activity activity, const Stack& stack,
           const Counted& counted) noexcept;
  // Appends a record to the metadata.
  __attribute__((format(printf, 2, 3))) void note(const char* format, ...) noexcept;
  // Appends the text of a record. False: there is no room, or another thread is in the way. For
  // handlers, too.
  bool append(const char* text, std::uint32_t size) noexcept;
  // A doubt about the samples, which the reader prints.
  void doubt(const char* text, int problem) noexcept;
  // Writes everything that is pending. `wait`: for another thread that writes.
  void flush(bool wait) noexcept;
  // Other code may lie at the same addresses from now on.
  void code_changes() noexcept { old_stacks_ = old_code_ = true; }
  // In a child that the program forked: drops what is the parent's, and names a file of its own.
  void forget() noexcept;
  // Writes the rest, and closes the file. Nothing can be added afterwards. False: it failed.
  bool finish() noexcept;
  void say_problem() const noexcept;

  // Whether there is anything that a reader could use.
  [[nodiscard]] bool is_used() const { return used_.load(std::memory_order_relaxed); }
  void use() { used_ = true; }

 private:
  static constexpr std::uint32_t kSamples = 1U << 12;
  static constexpr std::uint32_t kStackBytes = 1U << 17;
  static constexpr std::uint32_t kNoteBytes = 1U << 14;
  static constexpr std::uint32_t kKnown = 1U << 16;

  struct Pending {
    std::uint32_t count = 0, stack_bytes = 0, note_bytes = 0;
    Sample samples[kSamples] = {};
    std::uint8_t stacks[kStackBytes] = {};
    char notes[kNoteBytes] = {};
    std::uint64_t counted[kSamples * (2 + kMostCounters)] = {};  // of each sample, packed
  };
  struct Known {
    std::uint64_t hash = 0;
    std::uint32_t number = 0;
  };

  bool lock() noexcept;
  void unlock() noexcept;
  // The number of a stack; -1: there is no room for it.
  std::int64_t number_of(const Stack& stack, Pending& to) noexcept;
  void forget_stacks() noexcept;
  void name_process() noexcept;
  bool open() noexcept;
  void write(Pending& from) noexcept;
  void write_names() noexcept;

  std::atomic_flag busy_;
  std::atomic<bool> writing_{false};
  std::atomic<bool> used_{false};
  std::atomic<bool> old_stacks_{false}, old_code_{false};  // known before other code was mapped
  bool closed_ = false;
  bool opened_ = false;
  int active_ = 0;
  std::uint64_t began_ = 0, flushed_ = 0;  // with the first sample
  std::uint32_t stacks_ = 0, known_count_ = 0;
  TraceFile file_;
  char stem_[4096] = {};
  int stem_length_ = 0;  // without the process
  char path_[4128] = {};
  Pending pending_[2] = {};
  Known known_[kKnown] = {};
  CodeMap code_;
  char text_[1U << 18] = {};
};

SampleStore& sample_store();

// The text as the inside of a string of JSON.
void quote(const char* text, char* to, std::size_t size) noexcept;

}  // namespace assay::trace
