// The file of a trace, or of samples. Blocks are appended whole, and errors never affect the
// program.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace assay::trace {

struct Counts {
  std::uint64_t events = 0;
  std::uint64_t requests = 0;     // begun
  std::uint64_t completions = 0;  // of requests
};

class TraceFile {
 public:
  // Makes room for the descriptors of files, while the process has one thread. Later, the kernel
  // waits some 10 ms for the other threads.
  static void reserve() noexcept;
  // Whether the file could be created, which then begins with `magic`. `flags`: O_TRUNC or O_EXCL.
  bool open(const char* path, const char* magic, int flags) noexcept;
  // A block of bytes, of the type 'M' if they are metadata (JSON Lines).
  void block(char type, const void* payload, std::uint32_t length) noexcept;
  void events(const void* payload, std::uint32_t length, const Counts& counts) noexcept;
  void close() noexcept;
  // In a child that the program forked: the file is its parent's.
  void forget() noexcept;

  [[nodiscard]] bool writing() const { return descriptor_ > 0 && problem_ == 0; }
  // The number of the first error, or 0.
  [[nodiscard]] int problem() const { return problem_; }
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(offset_); }

 private:
  void append(const std::uint8_t* head, std::uint32_t head_length, const void* payload,
              std::uint32_t length) noexcept;
  [[nodiscard]] bool still_mine() const noexcept;

  int descriptor_ = 0;  // 0: not open
  int problem_ = 0;
  off_t offset_ = 0;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace assay::trace
