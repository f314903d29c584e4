// The functions behind those of this library: MPI's, or those of another tool.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>

// Open MPI's handles are addresses of its variables. They are looked up when they are used: this
// library is loaded into launchers and shells, too, which have none, and into Python, which loads
// MPI later and out of sight of other libraries.
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, name)                               \
  (static_cast<type>([] {                                                \
    static constinit std::atomic<void*> known{nullptr};                  \
    return ::assay::trace::once(known, #name, ::assay::trace::variable); \
  }()))
#endif

namespace assay::trace {

// The next definition of a function after this library's; nullptr if there is none.
void* next(const char* symbol) noexcept;

// The variable that the program uses: an executable may have copies of a library's variables.
void* variable(const char* symbol) noexcept;

// The result of `find`, which is called until it finds something, because MPI may not be loaded
// yet.
inline void* once(std::atomic<void*>& known, const char* symbol,
                  void* (*find)(const char*) noexcept) noexcept {
  void* found = known.load(std::memory_order_relaxed);
  if (!found) {
    found = find(symbol);
    known.store(found, std::memory_order_relaxed);
  }
  return found;
}

// A function behind one of this library, or one of MPI that the library itself calls.
#define ASSAY_NEXT(Name)                                           \
  ([] {                                                            \
    static constinit std::atomic<void*> known{nullptr};            \
    return reinterpret_cast<decltype(&::Name)>(                    \
        ::assay::trace::once(known, #Name, ::assay::trace::next)); \
  }())
#define ASSAY_MPI(Name) ASSAY_NEXT(PMPI_##Name)

// Whether a loaded file is one of MPI's libraries, by its name.
bool is_mpi_library(const char* path) noexcept;

}  // namespace assay::trace
