// Sources: CUDA driver API, cuPointerGetAttribute (CU_POINTER_ATTRIBUTE_MEMORY_TYPE); HIP API,
// hipPointerGetAttributes, whose first field is the type of memory in all versions.
#include "device_memory.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

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

// The libraries that the program has loaded, by the names under which it has. `adds`: how often a
// library was loaded until then.
struct Libraries {
  unsigned long long adds = 0;
  char cuda[PATH_MAX] = {}, hip[PATH_MAX] = {};
};
Libraries libraries;

void note_library(const char* path, const char* name, char (&to)[PATH_MAX]) {
  const char* const slash = strrchr(path, '/');
  if (strncmp(slash ? slash + 1 : path, name, strlen(name)) != 0) return;
  const std::size_t size = strlen(path);
  if (size < sizeof to) memcpy(to, path, size + 1);
}

int note_libraries(dl_phdr_info* one, std::size_t, void* changed) {
  if (!*static_cast<bool*>(changed)) {
    if (libraries.adds == one->dlpi_adds) return 1;  // none since the last time
    *static_cast<bool*>(changed) = true;
    libraries.adds = one->dlpi_adds;
  }
  note_library(one->dlpi_name, "libcuda.so", libraries.cuda);
  note_library(one->dlpi_name, "libamdhip64.so", libraries.hip);
  return 0;
}

// A library that the program has loaded; nothing is loaded. A name that isn't loaded would be
// sought in all folders, which takes far longer than a call of MPI.
void* loaded(const char* path) { return *path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : nullptr; }

template <class Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void look() noexcept {
  bool changed = false;
  dl_iterate_phdr(note_libraries, &changed);
  if (!changed && !*libraries.cuda && !*libraries.hip) return;
  if (void* const library = loaded(libraries.cuda)) {
    if (auto found = function<CudaAttribute>(library, "cuPointerGetAttribute")) {
      cuda = found;
      return;
    }
  }
  if (void* const library = loaded(libraries.hip)) {
    const auto version = function<HipVersion>(library, "hipRuntimeGetVersion");
    Hip& found = hip_found;
    found.attributes = function<HipAttributes>(library, "hipPointerGetAttributes");
    found.peek = function<HipError>(library, "hipPeekAtLastError");
    found.take = function<HipError>(library, "hipGetLastError");
    int number = 0;
    if (!found.attributes || !found.peek || !found.take || !version || version(&number)) return;
    const bool renumbered = number / kHipMajor >= kHipNewTypes;
    found.device = renumbered ? 2 : 1;
    found.managed = renumbered ? 3 : 4;
    hip = &found;
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
