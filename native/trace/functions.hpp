// The functions that are recorded, from functions.txt: FUNCTIONS.inc is generated.
#pragma once

#include <mpi.h>

#include <cstdint>

namespace assay::trace {

enum Kind : std::int32_t {
  kPoint,
  kStartKind,
  kCompletion,
  kProbe,
  kCollective,
  kOneSided,
  kFile,
  kCommunicator,
  kLife,
  kKinds
};

inline constexpr const char* kKindNames[kKinds] = {"point", "start",        "completion",
                                                   "probe", "collective",   "one-sided",
                                                   "file",  "communicator", "life"};

struct Function {
  const char* name;  // without MPI_
  Kind kind;
};

#include "functions.inc"

}  // namespace assay::trace
