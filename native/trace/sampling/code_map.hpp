// The code that is mapped into this process: the lines of /proc/self/maps that name the files of
// code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::trace {

// Looked at only when it may have changed, since a look takes as long as 30 samples.
class CodeMap {
 public:
  // The number of bytes of the lines, which are put into `text`; 0 if they need not be written: all
  // addresses of the stacks are known, or nothing changed. `stacks`: as a block of the file has
  // them; `time`: of the newest of their samples, ns.
  std::uint32_t lines(char* text, std::size_t size, const std::uint8_t* stacks, std::uint32_t bytes,
                      std::uint64_t time) noexcept;

  // Looks again the next time, and writes the lines.
  void forget() noexcept { seen_ = sum_ = count_ = 0; }

 private:
  struct Range {
    std::uint64_t begin = 0, end = 0;
  };
  static constexpr std::uint32_t kRanges = 1U << 11;

  [[nodiscard]] bool is_known(std::uint64_t address) const noexcept;
  [[nodiscard]] bool are_known(const std::uint8_t* stacks, std::uint32_t bytes) const noexcept;
  void keep_ranges(const char* text, std::uint32_t bytes) noexcept;

  std::uint64_t seen_ = 0;  // newest sample at the last look, ns
  std::uint32_t sum_ = 0;   // checksum of the lines
  std::uint32_t count_ = 0;
  Range ranges_[kRanges] = {};  // in the order of addresses
};

}  // namespace assay::trace
