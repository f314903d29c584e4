// What the functions of Python are called: reads code objects and texts of the interpreter.
#pragma once

#include <string.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sampling/python.hpp"
#include "sampling/python_layout.hpp"

namespace assay::trace {

// The interpreter of this process. `layout`: nullptr if its frames can't be read.
struct Interpreter {
  std::atomic<bool> sought{false};
  std::atomic<bool> ready{false};
  const PythonLayout* layout = nullptr;
  void* (*this_thread)() = nullptr;
  std::uint64_t code_type = 0, text_type = 0;
  int process = 0;
  char version[16] = {};
  std::atomic<std::uint64_t> fitting{0}, unfitting{0};  // stacks
  std::atomic<int> problem{0};                          // why memory can't be read
};
extern Interpreter interpreter;

// Reads memory of this process by the kernel, which returns an error where an access would be a
// fault.
bool read_memory(std::uint64_t address, void* to, std::size_t size) noexcept;

template <class Type, std::size_t Size>
Type at(const std::uint8_t (&bytes)[Size], std::uint32_t offset) {
  Type value{};
  if (offset + sizeof value <= Size) memcpy(&value, bytes + offset, sizeof value);
  return value;
}

constexpr std::size_t kCodes = sizeof PythonCalls{}.codes / sizeof PythonCalls{}.codes[0];
using Code = std::uint8_t[sizeof PythonCalls{}.codes[0]];

enum class Found { kFunction, kNothing, kBusy };

// The number of the function of a code object, of which these are the first bytes; a new function
// is recorded. kNothing: it isn't one. kBusy: another thread is in the way.
Found number_of(std::uint64_t code, const Code& bytes, std::uint64_t& number) noexcept;

// In a forked child, whose file has no records yet. Another thread may have been in the way.
void forget_functions() noexcept;

}  // namespace assay::trace
