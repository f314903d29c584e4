// What this library tells the one that samples call stacks, if that is loaded, too.
#pragma once

namespace assay::trace {

// This process is a rank: its number, its files and whether a thread is inside MPI.
void attach_sampling() noexcept;
// The process may be ended before the samples are written.
void flush_sampling() noexcept;

}  // namespace assay::trace
