#include "next.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstring>

namespace assay::trace {
namespace {

struct Search {
  const char* symbol;
  void* found;
};

// A program may load MPI out of sight of RTLD_NEXT, as Python modules do.
int search(dl_phdr_info* info, std::size_t, void* data) {
  auto* wanted = static_cast<Search*>(data);
  if (!info->dlpi_name || !is_mpi_library(info->dlpi_name)) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  wanted->found = dlsym(library, wanted->symbol);
  dlclose(library);
  return wanted->found != nullptr;
}

}  // namespace

void* next(const char* symbol) noexcept {
  if (void* found = dlsym(RTLD_NEXT, symbol)) return found;
  Search wanted{symbol, nullptr};
  dl_iterate_phdr(search, &wanted);
  return wanted.found;
}

void* variable(const char* symbol) noexcept {
  if (void* found = dlsym(RTLD_DEFAULT, symbol)) return found;
  return next(symbol);
}

bool is_mpi_library(const char* path) noexcept {
  const char* slash = std::strrchr(path, '/');
  const char* name = slash ? slash + 1 : path;
  return std::strncmp(name, "libmpi", 6) == 0 || std::strncmp(name, "libpmpi", 7) == 0;
}

}  // namespace assay::trace
