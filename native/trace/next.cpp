#include "next.hpp"

#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

#include <cstring>

namespace assay::trace {
namespace {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

constexpr int kMost = 64;
Range ranges[kMost];
int range_count = 0;

bool is_mpi(const char* path) {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  return std::strncmp(name, "libmpi", 6) == 0 || std::strncmp(name, "libpmpi", 7) == 0;
}

bool inside(std::uint64_t address) {
  for (int i = 0; i < range_count; ++i) {
    if (address >= ranges[i].begin && address < ranges[i].end) return true;
  }
  return false;
}

int note(dl_phdr_info* info, std::size_t, void*) {
  if (!info->dlpi_name || !is_mpi(info->dlpi_name)) return 0;
  for (int i = 0; i < info->dlpi_phnum && range_count < kMost; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
    const std::uint64_t begin = info->dlpi_addr + header.p_vaddr;
    ranges[range_count++] = {begin, begin + header.p_memsz};
  }
  return 0;
}

struct Search {
  const char* symbol;
  void* found;
};

// A program may load MPI out of sight of RTLD_NEXT, as Python modules do.
int search(dl_phdr_info* info, std::size_t, void* data) {
  auto* wanted = static_cast<Search*>(data);
  if (!info->dlpi_name || !is_mpi(info->dlpi_name)) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  wanted->found = dlsym(library, wanted->symbol);
  dlclose(library);
  return wanted->found != nullptr;
}

struct Walk {
  std::uint64_t site;
  int left;
  bool seen;  // the frames of this library are past
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* data) {
  auto* walk = static_cast<Walk*>(data);
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (address == walk->site) walk->seen = true;
  if (walk->seen && !inside(address)) {
    walk->site = address;
    return _URC_END_OF_STACK;
  }
  return --walk->left > 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

const char* object_of(void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) ? info.dli_fname : nullptr;
}

}  // namespace

void* next(const char* symbol) noexcept {
  if (void* found = dlsym(RTLD_NEXT, symbol)) return found;
  Search wanted{symbol, nullptr};
  dl_iterate_phdr(search, &wanted);
  return wanted.found;
}

std::uint64_t call_site(void* address) noexcept {
  const auto site = reinterpret_cast<std::uint64_t>(address);
  if (!inside(site)) return site;
  Walk walk{site, 16, false};
  _Unwind_Backtrace(step, &walk);
  return walk.site;
}

bool find_libraries() noexcept {
  range_count = 0;
  dl_iterate_phdr(note, nullptr);
  const char* fortran = object_of(dlsym(RTLD_DEFAULT, "mpi_send_"));
  const char* c = object_of(next("PMPI_Send"));
  return !fortran || !c || std::strcmp(fortran, c) != 0;
}

}  // namespace assay::trace
