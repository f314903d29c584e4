#include "call_site.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstring>

#include "next.hpp"
#include "python.hpp"

namespace assay::trace {
namespace {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

constexpr int kMost = 64;
Range ranges[kMost];
int range_count = 0;

bool inside(std::uint64_t address) {
  for (int i = 0; i < range_count; ++i) {
    if (address >= ranges[i].begin && address < ranges[i].end) return true;
  }
  return false;
}

int note(dl_phdr_info* info, std::size_t, void*) {
  if (!info->dlpi_name || !is_mpi_library(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum && range_count < kMost; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    ranges[range_count++] = {begin, begin + header.p_memsz};
  }
  return 0;
}

struct Walk {
  std::uint64_t site;
  std::uint64_t slot;  // where on the stack that address is
  int left;
  bool seen;  // the frames of this library are past
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (address == walk->site) walk->seen = true;
  if (walk->seen && !inside(address)) {
    walk->site = address;
    walk->slot = static_cast<std::uint64_t>(_Unwind_GetCFA(context)) - sizeof(std::uint64_t);
    return _URC_END_OF_STACK;
  }
  return --walk->left > 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

const char* object_of(void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) ? info.dli_fname : nullptr;
}

// Unwinding the stack takes microseconds, most of them for data that the program has pushed out of
// the caches. MPI's Fortran functions have frames of a fixed size, so that the program's return
// address is always at the same distance from the wrapper's frame for calls through the same
// address of MPI's libraries. What is there counts only if unwinding has found that very address
// before; else the stack is unwound.
struct Way {
  std::atomic<std::uint64_t> through{0};
  std::atomic<std::uint64_t> distance{0};
};
constexpr std::uint32_t kWays = 1U << 8, kKnown = 1U << 12;
Way ways[kWays];
std::atomic<std::uint64_t> known[kKnown];

std::uint64_t mixed(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ULL;
  return value ^ value >> 32;
}

std::uint64_t pair_of(std::uint64_t through, std::uint64_t site) { return mixed(through) ^ site; }

__attribute__((no_sanitize("address"))) std::uint64_t word_at(std::uint64_t place) {
  std::uint64_t word = 0;
  __builtin_memcpy(&word, reinterpret_cast<const void*>(place), sizeof word);
  return word;
}

// The dynamic linker calls the program by its first argument, which may be a word that was found on
// PATH, or relative to a folder that was left.
const char* absolute(const char* name) {
  static char program[4096];
  if (name[0] == '/') return name;
  if (!program[0] && readlink("/proc/self/exe", program, sizeof program - 1) < 0) program[0] = 0;
  return program[0] ? program : name;
}

#if defined(__x86_64__)
constexpr bool kStackHasReturns = true;
#else  // the place of return addresses in a frame isn't fixed
constexpr bool kStackHasReturns = false;
#endif

}  // namespace

std::uint64_t call_site(void* address, void* frame) noexcept {
  const auto through = reinterpret_cast<std::uint64_t>(address);
  if (!inside(through)) return through;
  const auto from = reinterpret_cast<std::uint64_t>(frame);
  Way& way = ways[mixed(through) % kWays];
  if (way.through.load(std::memory_order_relaxed) == through) {
    const std::uint64_t site = word_at(from + way.distance.load(std::memory_order_relaxed));
    const std::uint64_t pair = pair_of(through, site);
    if (known[mixed(pair) % kKnown].load(std::memory_order_relaxed) == pair) return site;
  }
  Walk walk{through, 0, 16, false};
  _Unwind_Backtrace(step, &walk);
  if (kStackHasReturns && walk.slot != 0 && word_at(walk.slot) == walk.site) {
    const std::uint64_t pair = pair_of(through, walk.site);
    known[mixed(pair) % kKnown].store(pair, std::memory_order_relaxed);
    way.distance.store(walk.slot - from, std::memory_order_relaxed);
    way.through.store(through, std::memory_order_relaxed);
  }
  return walk.site;
}

std::uint64_t program_site(void* address, void* frame) noexcept {
  return python_site(call_site(address, frame));
}

SiteName name_of(std::uint64_t site) noexcept {
  if (const PythonSite* line = python_line(site)) {
    return {line->file, static_cast<std::uint64_t>(line->line), line->function};
  }
  Dl_info info{};
  if (!dladdr(reinterpret_cast<void*>(site), &info) || !info.dli_fname) return {"", site, nullptr};
  return {absolute(info.dli_fname), site - reinterpret_cast<std::uint64_t>(info.dli_fbase),
          nullptr};
}

bool find_libraries() noexcept {
  range_count = 0;
  dl_iterate_phdr(note, nullptr);
  const char* fortran = object_of(dlsym(RTLD_DEFAULT, "mpi_send_"));
  const char* c = object_of(next("PMPI_Send"));
  return !fortran || !c || std::strcmp(fortran, c) != 0;
}

}  // namespace assay::trace
