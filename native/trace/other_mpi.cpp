#include "other_mpi.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "entries.hpp"
#include "files/message.hpp"
#include "next.hpp"

namespace assay::trace {
namespace {

// How handles are passed: addresses of Open MPI's variables, addresses and small numbers of the
// standard's binary interface, or integers of MPICH's.
enum class Handles { kOpenMpi, kStandard, kMpich };

#if defined(OPEN_MPI)
constexpr Handles kOwn = Handles::kOpenMpi;
constexpr char kOwnName[] = "Open MPI";
#elif defined(MPI_ABI_VERSION) && !defined(MPICH_VERSION)
constexpr Handles kOwn = Handles::kStandard;
constexpr char kOwnName[] = "MPI's standard binary interface";
#else
constexpr Handles kOwn = Handles::kMpich;
constexpr char kOwnName[] = "MPICH and its kin";
#endif

// The file that holds an address; "" if unknown.
const char* file_of(void* address) {
  Dl_info info{};
  return address && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

bool is_first_rank() {
  for (const char* name : {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    if (const char* rank = getenv(name)) return atoi(rank) == 0;
  }
  return true;
}

// Whether this library for another MPI comes before or after this library.
bool has_others() {
  const char* mine = file_of(reinterpret_cast<void*>(&other_mpi));
  const char* first = file_of(dlsym(RTLD_DEFAULT, "MPI_Init"));
  return strcmp(first, mine) != 0 || !is_mpi_library(file_of(next("MPI_Init")));
}

void step_aside(const char* library) {
  if (!has_others() && is_first_rank()) {
    char text[600];
    snprintf(text, sizeof text,
             "The program uses another MPI (%.300s) than the profiling library (%s): it runs "
             "without a profile.",
             library, kOwnName);
    say(text, "", 0);
  }
  if (kJumps) {
    for (int i = 0; i < kEntryCount; ++i) {
      if (void* behind = next(kEntryNames[i])) assay_entries[i] = behind;
    }
    return;
  }
  say("On this kind of processor it can't: the program is ended.", "", 0);
  _exit(1);
}

}  // namespace

bool other_mpi() noexcept {
  static int known = -1;  // MPI begins once
  if (known >= 0) return known != 0;
  // Of the last one in a row of tools.
  const char* library = file_of(next("MPI_Get_library_version"));
  Handles theirs = Handles::kMpich;
  if (strstr(library, "libmpi_abi")) {
    theirs = Handles::kStandard;
  } else if (variable("ompi_mpi_comm_world")) {
    theirs = Handles::kOpenMpi;
  }
  known = theirs != kOwn;
  if (known) step_aside(library);
  return known != 0;
}

}  // namespace assay::trace
