// The search of the kernel storage.io500 over everything that it wrote, as by find.
#pragma once

#include <sys/stat.h>

#include <cstdint>

#include "harness/kernel.hpp"

namespace assay {

// A file is found if its name holds `name`, its size is `bytes`, and it was not modified before
// `since`.
struct SoughtFiles {
  const char* name;
  std::int64_t bytes;
  timespec since;
};

// Files of this rank's part of the search.
struct SearchResult {
  std::int64_t examined = 0;
  std::int64_t found = 0;
};

// Collective. Each rank lists and examines a directory of its own (`own`). Rank 0 lists the scratch
// directory (`top`) and the one that all ranks share (`shared`), whose listing can't be divided; it
// examines the names itself and divides the files whose names fit among all ranks. After an error
// on a rank all throw.
SearchResult search(const Context& context, int top, int own, int shared,
                    const SoughtFiles& sought);

}  // namespace assay
