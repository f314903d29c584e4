// Whether a buffer is memory of an accelerator.
#pragma once

#include <atomic>
#include <cstdint>

namespace assay::trace {

// Whether the program itself has loaded a library of devices, and when to look for one next.
extern std::atomic<bool> device_library;
extern std::atomic<std::uint64_t> next_look;

bool look_for_device_library(std::uint64_t time) noexcept;
bool ask_device_library(const void* buffer) noexcept;

// Asks the library of CUDA or HIP; false without one. `time`: now, CLOCK_MONOTONIC, ns. A library
// is looked for every 2 ms at most, so that other calls of a program without one pay two
// comparisons.
inline bool in_device_memory(const void* buffer, std::uint64_t time) noexcept {
  if (!buffer) return false;
  if (!device_library.load(std::memory_order_acquire)) {
    if (time < next_look.load(std::memory_order_relaxed)) return false;
    if (!look_for_device_library(time)) return false;
  }
  return ask_device_library(buffer);
}

}  // namespace assay::trace
