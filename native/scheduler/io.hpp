// The form of a case and of its schedule: a line of JSON, then columns of 8-byte numbers.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include "scheduler/case.hpp"

namespace assay::scheduler {

// Input that can't be used; the message is one sentence.
struct InvalidInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Reads the next case; false at the end of the input. Throws InvalidInput.
bool read_case(std::FILE* input, Case& read);

// Throws InvalidInput if the output can't be written.
void write_schedule(std::FILE* output, const Schedule& schedule);

}  // namespace assay::scheduler
