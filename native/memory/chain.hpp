// A chain of dependent loads (pointer chasing) at random over a working set.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "memory/draws.hpp"
#include "memory/numa.hpp"
#include "memory/pages.hpp"

namespace assay {

// The bytes of a cache line.
inline std::size_t cache_line() {
#ifdef _SC_LEVEL1_DCACHE_LINESIZE
  const long line = sysconf(_SC_LEVEL1_DCACHE_LINESIZE);
  if (line >= static_cast<long>(sizeof(void*)) && line <= 4096) {
    return static_cast<std::size_t>(line);
  }
#endif
  return 64;
}

// One pointer per cache line, in a single random cycle. The pages are kept for later measurements.
class Chain {
 public:
  explicit Chain(std::size_t bytes = 0)
      : line_(cache_line()), lines_(std::max<std::size_t>(bytes / line_, 1)) {}
  ~Chain() { keep_as_spare(std::move(memory_)); }
  Chain(Chain&&) = default;
  Chain& operator=(Chain&&) = default;

  std::size_t line() const { return line_; }
  std::size_t lines() const { return lines_; }
  std::size_t bytes() const { return lines_ * line_; }

  // A random permutation that is a single cycle (Sattolo 1986): each line swaps successors with an
  // earlier one.
  void link(Pages::Size pages, int memory_node, Draws draws) {
    memory_ = take_spare_pages(bytes(), pages, memory_node);
    for (std::size_t line = 0; line < lines_; ++line) *place(line) = place(line);
    for (std::size_t line = lines_ - 1; line > 0; --line) {
      std::swap(*place(line), *place(draws.below(line)));
    }
    at_ = place(0);
    loads_ = 0;
  }

  // Loads every line once, and so returns to where it began. These loads count: if nothing used
  // their result, the compiler would leave them out.
  void go_round() { chase(static_cast<std::int64_t>(lines_)); }

  // Dependent loads: each uses the address that the one before loaded.
  void chase(std::int64_t loads) {
    void* const* place = at_;
    for (std::int64_t k = 0; k < loads; ++k) place = static_cast<void* const*>(*place);
    at_ = place;
    loads_ += loads;
  }

  // Lines that a cycle from the start misses or meets twice. One cycle must visit every line once
  // and return, and the loads so far must have ended where their number leads.
  std::size_t wrong() const {
    const auto steps = static_cast<std::size_t>(loads_) % lines_;
    std::vector<bool> met(lines_, false);
    std::size_t wrong = 0;
    void* const* here = place(0);
    for (std::size_t k = 0; k < lines_; ++k) {
      if (k == steps && here != at_) ++wrong;
      const std::size_t line = index_of(here);
      if (line == lines_ || met[line]) {
        wrong += lines_ - k;  // the rest of the cycle is never reached
        break;
      }
      met[line] = true;
      here = static_cast<void* const*>(*here);
    }
    if (wrong == 0 && here != place(0)) ++wrong;
    return wrong;
  }

  double huge_page_share() const {
    return static_cast<double>(memory_.on_huge_pages()) / static_cast<double>(memory_.bytes());
  }
  int lies_on_node() const { return node_of_page(memory_.as<char>()); }

  // The errors that tests plant.
  void cut() { *place(lines_ / 2) = place(0); }
  void swap_two() { std::swap(*place(lines_ / 2), *place(lines_ / 3)); }
  void miscount() { ++loads_; }

 private:
  void** place(std::size_t line) const {
    return reinterpret_cast<void**>(memory_.as<char>() + line * line_);
  }

  // The line at that address; lines_ if no line begins there.
  std::size_t index_of(const void* address) const {
    const auto distance =
        static_cast<std::size_t>(static_cast<const char*>(address) - memory_.as<char>());
    return distance % line_ == 0 && distance / line_ < lines_ ? distance / line_ : lines_;
  }

  std::size_t line_;
  std::size_t lines_;
  Pages memory_;
  void* const* at_ = nullptr;
  std::int64_t loads_ = 0;
};

}  // namespace assay
