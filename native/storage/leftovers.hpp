// Scratch directories left behind by killed measurements: their owners, and their removal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// The creator of a scratch directory, as its name encodes it: assay-storage_HOST_PID_START_RANDOM.
// `start` is the process's start time in the kernel's ticks since boot: a pid may be reused, the
// pair of both isn't.
struct ScratchOwner {
  std::string host;
  int pid = 0;
  std::uint64_t start = 0;
};

// A new unique name; the owner is this process.
std::string new_scratch_name();
std::optional<ScratchOwner> owner_of(const std::string& name);

// The file in a scratch directory that its creator keeps locked (flock) while it runs.
inline constexpr const char* kLockName = "lock";

// Removes the directory of that name below `parent` with its contents. Follows no link: a link of
// that name, or in it, is never entered. False, with errno, if something remains.
bool remove_scratch(int parent, const std::string& name);

// Removes the scratch directories below `parent` whose creators have ended; returns their number. A
// creator on this host has ended if its lock is free and its process doesn't exist; one on another
// host counts as ended only if the file system is local to this node, so that a free lock suffices.
int remove_leftovers(int parent);

}  // namespace assay
