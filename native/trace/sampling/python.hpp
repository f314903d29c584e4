// Functions of Python on the stack of an interrupted thread, for CPython 3.8 to 3.11, whose frames
// are read. Later versions give each function code of its own, which the stack itself shows.
#pragma once

#include <cstdint>

#include "sampling/walk.hpp"

namespace assay::trace {

// Such a function in place of an address: this bit, and the number of its record.
constexpr std::uint64_t kPythonMark = std::uint64_t{1} << 63;

// The functions of Python that a thread is in, innermost first, and the C frames that run them.
struct PythonCalls {
  struct Runner {
    std::uint64_t address = 0;  // in the C frame that runs these functions; 0: unknown
    std::uint32_t count = 0;    // of the functions
  };
  std::uint32_t count = 0, runners = 0;
  bool cut = false;                           // there are further ones outside
  bool sought = false;                        // there should be some
  std::uint64_t functions[kMostFrames] = {};  // 0: it has no name
  Runner runner[kMostFrames] = {};
  // What was read at once: memory before and after a frame, and several code objects.
  std::uint64_t near = 0;
  std::uint8_t frames[2048] = {};
  std::uint8_t codes[16][144] = {};
};

// Finds the interpreter of this process, if there is one. Not for handlers, and not for new
// threads: another thread may load a library and wait for them.
void find_python() noexcept;

// In a forked child: its own memory is read, and its file gets its own records of functions.
void follow_python() noexcept;

// Puts the functions of the calling thread into its stack, behind the frames that run them. For
// handlers: memory is read by the kernel, so that wrong addresses do no harm. False: another thread
// is in the way.
bool add_python(Stack& stack, PythonCalls& calls) noexcept;

// Records whether functions of Python have names, at the end.
void note_python() noexcept;

}  // namespace assay::trace
