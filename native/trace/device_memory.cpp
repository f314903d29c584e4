// Sources: CUDA driver API, cuPointerGetAttribute (CU_POINTER_ATTRIBUTE_MEMORY_TYPE); HIP API,
// hipPointerGetAttributes, whose first field is the type of memory in all versions.
#include "device_memory.hpp"

#include <dlfcn.h>
#include <stdint.h>

#include <initializer_list>

namespace assay::trace {
namespace {

constexpr int kCudaMemoryType = 2;     // the attribute
constexpr unsigned kCudaDevice = 2;    // its value
constexpr int kHipNewTypes = 6;        // major version since which the types have other numbers
constexpr int kHipMajor = 10'000'000;  // one major version, in a version's number

using CudaAttribute = int (*)(void*, int, uintptr_t);
using HipAttributes = int (*)(void*, const void*);
using HipError = int (*)();
using HipVersion = int (*)(int*);

struct Hip {
  HipAttributes attributes;
  HipError peek, take;
  int device, managed;  // types of memory
};
Hip hip_found;
std::atomic<const Hip*> hip{nullptr};
std::atomic<CudaAttribute> cuda{nullptr};
std::atomic_flag looking;

// The library if the program has loaded it; nothing is loaded.
void* loaded(const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

template <class Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void look() noexcept {
  for (const char* name : {"libcuda.so.1", "libcuda.so"}) {
    void* const library = loaded(name);
    if (!library) continue;
    if (auto found = function<CudaAttribute>(library, "cuPointerGetAttribute")) {
      cuda = found;
      return;
    }
  }
  for (const char* name :
       {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
    void* const library = loaded(name);
    if (!library) continue;
    const auto version = function<HipVersion>(library, "hipRuntimeGetVersion");
    Hip& found = hip_found;
    found.attributes = function<HipAttributes>(library, "hipPointerGetAttributes");
    found.peek = function<HipError>(library, "hipPeekAtLastError");
    found.take = function<HipError>(library, "hipGetLastError");
    int number = 0;
    if (!found.attributes || !found.peek || !found.take || !version || version(&number)) continue;
    const bool renumbered = number / kHipMajor >= kHipNewTypes;
    found.device = renumbered ? 2 : 1;
    found.managed = renumbered ? 3 : 4;
    hip = &found;
    return;
  }
}

}  // namespace

std::atomic<bool> device_library{false};
std::atomic<std::uint64_t> next_look{0};

bool look_for_device_library(std::uint64_t time) noexcept {
  constexpr std::uint64_t kPeriod = 2'000'000;  // ns
  if (looking.test_and_set(std::memory_order_acquire)) return false;
  next_look.store(time + kPeriod, std::memory_order_relaxed);
  look();
  const bool found = cuda || hip;
  device_library.store(found, std::memory_order_release);
  looking.clear(std::memory_order_release);
  return found;
}

bool ask_device_library(const void* buffer) noexcept {
  const CudaAttribute ask = cuda.load(std::memory_order_acquire);
  if (ask) {
    unsigned type = 0;
    return ask(&type, kCudaMemoryType, reinterpret_cast<uintptr_t>(buffer)) == 0 &&
           type == kCudaDevice;
  }
  const Hip* const other = hip.load(std::memory_order_acquire);
  // The program may still ask for an earlier error, which a failed call would replace.
  if (other->peek()) return false;
  alignas(16) int attributes[32] = {};
  if (other->attributes(attributes, buffer)) {
    other->take();
    return false;
  }
  return attributes[0] == other->device || attributes[0] == other->managed;
}

}  // namespace assay::trace
