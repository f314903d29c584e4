// Which of two codes a benchmark runs.
#pragma once

#include "harness/kernel.hpp"

namespace assay::npb {

// kTuned: assay's own, with fewer passes over memory and lines in the lanes of vectors. kPlain: the
// passes and exchanges that the benchmark's description implies, as in users' codes, so that it
// scales as such codes do. Both do the same problem and are verified alike.
enum class Code { kTuned, kPlain };

inline Code code_of(Parameters& parameters) {
  return parameters.choice("code", "tuned", {"tuned", "plain"}) == "plain" ? Code::kPlain
                                                                           : Code::kTuned;
}

}  // namespace assay::npb
