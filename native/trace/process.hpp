// The identity of this process among the profiled command's processes, and the names of its files.
#pragma once

#include <cstddef>

namespace assay::trace {

// Takes a unique name for the files of this process in ASSAY_PROFILE_DIR, because several programs,
// or a program and those that it spawns, may have the same ranks. `rank` below 0: no world.
void claim_files(int rank) noexcept;

// "FOLDER/rank-N" or, of a later process with this rank, "FOLDER/rank-N-2" and so on; nullptr:
// there is no folder, or its name is too long.
const char* file_stem() noexcept;

// Notes whether another program has started this one by MPI_Comm_spawn.
void note_parent(bool spawned) noexcept;

// Fields of a JSON object: `"world":"…","spawned":…,"command":"…","mpi":"…"`. Processes with
// different worlds are of different launches. The text lives as long as the process.
const char* process_fields() noexcept;

}  // namespace assay::trace
