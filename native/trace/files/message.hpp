// Lines on standard error.
#pragma once

namespace assay::trace {

// "assay: TEXT 'WHERE': what `problem` (an errno) means.", or only the text without a problem.
void say(const char* text, const char* where, int problem) noexcept;

}  // namespace assay::trace
