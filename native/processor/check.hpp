// Whether this processor has the instruction sets that the program was compiled for, found out
// before any of them is used. Nothing but declarations in C's words: see check.cpp.
#pragma once

#include <stddef.h>

namespace assay {

// Exit status of a program that meets a processor it was not built for.
enum { kExitProcessor = 5 };

}  // namespace assay

extern "C" {

// Instruction sets that the optimised units of the program may use, separated by spaces
// (built_for.cpp).
extern const char assay_built_for[];

// Writes into `text`, of `size` bytes, those words of `sets` that this processor, or its operating
// system, lacks, each followed by a space; returns how many they are. A word that is not known
// counts as one that is there.
int assay_lacking(const char* sets, char* text, size_t size);

// The names that assay_lacking() knows: the name with that number, nullptr beyond the last.
const char* assay_known_set(size_t number);
}
