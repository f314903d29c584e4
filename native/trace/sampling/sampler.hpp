// Sampling of the threads' call stacks at equal steps of their CPU time.
#pragma once

namespace assay::trace {

// Begins to sample this process, if ASSAY_SAMPLE_PERIOD asks for it; later calls do nothing.
void begin_sampling() noexcept;

// Whether the calling process is sampled: not a child by vfork(), and a child by fork() only if the
// environment asks for it.
bool is_sampled() noexcept;

// Begins to sample the calling thread, a new one; until it ends.
void begin_thread() noexcept;

// The process ends without the functions that exit() calls.
void end_process() noexcept;

// The program sets a handler of this signal.
void program_handles(int number) noexcept;

// A function of the program or of its libraries that this library defines, too; by its name.
void* behind(const char* name) noexcept;

}  // namespace assay::trace
