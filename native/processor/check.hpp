// Checks that this processor has the instruction sets that the program was compiled for, before any
// of them is used. C declarations only: see check.cpp.
#pragma once

#include <stddef.h>

namespace assay {

// Exit status on a processor that lacks instruction sets of the build.
enum { kExitProcessor = 5 };

}  // namespace assay

extern "C" {

// Instruction sets that the optimised units of the program may use, separated by spaces
// (built_for.cpp).
extern const char assay_built_for[];

// Writes into `text`, of `size` bytes, those words of `sets` that this processor, or its operating
// system, lacks, each followed by a space; returns their number. An unknown word counts as
// available.
int assay_lacking(const char* sets, char* text, size_t size);

// The names that assay_lacking() knows, by number; nullptr beyond the last.
const char* assay_known_set(size_t number);
}
