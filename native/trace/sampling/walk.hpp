// The call stack of the interrupted code of a thread. Safe in signal handlers: takes no lock,
// doesn't allocate, and reads no memory outside the thread's stack and the tables of loaded code.
#pragma once

#include <cstdint>

namespace assay::trace {

constexpr std::uint32_t kMostFrames = 192;

struct Stack {
  std::uint32_t count = 0;
  bool cut = false;  // there are further frames outside
  // Of instructions, innermost first: the interrupted one, then the calls.
  std::uint64_t frames[kMostFrames] = {};
};

// `context`: the third argument of the handler. `low`, `high`: the thread's stack.
void walk(void* context, std::uint64_t low, std::uint64_t high, Stack& to) noexcept;

}  // namespace assay::trace
