// The limit on the size of files. Writing beyond it sends SIGXFSZ, which ends the program.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

namespace assay::trace {

inline bool is_beyond_limit(off_t size) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<rlim_t>(size) > limit.rlim_cur;
}

}  // namespace assay::trace
