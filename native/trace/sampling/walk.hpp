// The call stack of the interrupted code of a thread. Safe in signal handlers: takes no lock,
// doesn't allocate, and reads no memory outside the thread's stack and the tables of loaded code.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::trace {

constexpr std::uint32_t kMostFrames = 192;

struct Stack {
  std::uint32_t count = 0;
  bool cut = false;  // there are further frames outside
  // Of instructions, innermost first: the interrupted one, then the calls.
  std::uint64_t frames[kMostFrames] = {};
  // The stack pointer in each frame: what the frame keeps on the stack begins there.
  std::uint64_t tops[kMostFrames] = {};
};
// Set in `tops` if the frame belongs to the function that runs Python's functions.
constexpr std::uint64_t kInterpreter = 1;
// Where that function begins; 0: there is none.
extern std::atomic<std::uint64_t> interpreter_function;

// Whether tables are found without a lock of the loader, which another thread may have held when it
// was lost by a fork.
bool walks_without_locks() noexcept;

// `context`: the third argument of the handler. `low`, `high`: the thread's stack.
void walk(void* context, std::uint64_t low, std::uint64_t high, Stack& to) noexcept;

}  // namespace assay::trace
