// What a process and the children that it forks, and theirs, tell each other.
#pragma once

namespace assay::trace {

// Makes the memory that they share, before the first is forked. False: there is none.
bool found_family() noexcept;
// In a child.
void join_family() noexcept;
// In a child that can't be sampled.
void leave_family() noexcept;

// At the end of a process: a child counts itself if it has no samples, and the process that forked
// the first of them notes what was counted.
void note_family() noexcept;

// Whether no process of the family has said that its file can't be written.
bool is_first_to_tell() noexcept;

}  // namespace assay::trace
