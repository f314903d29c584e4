#include "sampling/code_map.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "events/format.hpp"

namespace assay::trace {
namespace {

// Time until the next look, ns, if all addresses are known: other code may lie at the same
// addresses.
constexpr std::uint64_t kPeriod = 1'000'000'000;

// Number of bytes of the lines of code: "BEGIN-END rwxp OFFSET DEVICE INODE PATH".
std::uint32_t read_lines(char* text, std::size_t size) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  std::uint32_t used = 0, kept = 0;
  for (;;) {
    const ssize_t count = read(file, text + used, size - used);
    if (count <= 0) break;
    used += static_cast<std::uint32_t>(count);
    std::uint32_t line = kept;
    while (const void* end = memchr(text + line, '\n', used - line)) {
      const auto next = static_cast<std::uint32_t>(static_cast<const char*>(end) - text) + 1;
      const void* rights = memchr(text + line, ' ', next - line);
      if (rights && static_cast<const char*>(rights)[3] == 'x') {
        memmove(text + kept, text + line, next - line);
        kept += next - line;
      }
      line = next;
    }
    memmove(text + kept, text + line, used - line);
    used = kept + (used - line);
  }
  close(file);
  return kept;
}

}  // namespace

std::uint32_t CodeMap::lines(char* text, std::size_t size, const std::uint8_t* stacks,
                             std::uint32_t bytes, std::uint64_t time) noexcept {
  if (seen_ != 0 && time - seen_ < kPeriod && are_known(stacks, bytes)) return 0;
  const std::uint32_t found = read_lines(text, size);
  seen_ = time;
  keep_ranges(text, found);
  const std::uint32_t sum = checksum(reinterpret_cast<const std::uint8_t*>(text), found);
  if (sum == sum_) return 0;
  sum_ = sum;
  return found;
}

bool CodeMap::is_known(std::uint64_t address) const noexcept {
  // No code is in the upper half: a function of Python, or the end of the stack.
  if (address >> 63 != 0) return true;
  const Range* const end = ranges_ + count_;
  const Range* const found = std::upper_bound(
      ranges_, end, address, [](std::uint64_t one, const Range& range) { return one < range.end; });
  return found != end && found->begin <= address;
}

bool CodeMap::are_known(const std::uint8_t* stacks, std::uint32_t bytes) const noexcept {
  for (const std::uint8_t *place = stacks, *const end = stacks + bytes; place < end;) {
    std::uint32_t head[2];
    memcpy(head, place, sizeof head);
    place += sizeof head;
    for (std::uint32_t left = head[1] & ~(1U << 31); left > 0; --left) {
      std::uint64_t address = 0;
      memcpy(&address, place, sizeof address);
      place += sizeof address;
      if (!is_known(address)) return false;
    }
  }
  return true;
}

void CodeMap::keep_ranges(const char* text, std::uint32_t bytes) noexcept {
  count_ = 0;
  for (const char *line = text, *const end = text + bytes; line < end && count_ < kRanges;) {
    char* rest = nullptr;
    Range& one = ranges_[count_++];
    one.begin = strtoull(line, &rest, 16);
    one.end = strtoull(rest + 1, nullptr, 16);
    line = static_cast<const char*>(memchr(line, '\n', static_cast<std::size_t>(end - line))) + 1;
  }
}

}  // namespace assay::trace
