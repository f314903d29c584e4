// Directories that a killed measurement left behind: whose they are, and removing them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Who made a scratch directory, as its name says: assay-storage_HOST_PID_START_RANDOM. `start` is
// the process's, in the kernel's ticks since boot: a pid may be given anew, both together aren't.
struct ScratchOwner {
  std::string host;
  int pid = 0;
  std::uint64_t start = 0;
};

// A name that nobody has: the owner is this process.
std::string new_scratch_name();
std::optional<ScratchOwner> owner_of(const std::string& name);

// The file in a scratch directory that its maker holds locked (flock) as long as it lives.
inline constexpr const char* kLockName = "lock";

// Removes what lies in the directory of that name below `parent`, and the directory. Follows no
// link: one of that name, or in it, is never entered. False, errno saying why, if something stays.
bool remove_scratch(int parent, const std::string& name);

// Removes the scratch directories below `parent` whose makers are dead; how many. A maker is dead
// if its lock is free and its process on this host gone; another host's, only where the file system
// is this node's own, so that a free lock says all.
int remove_leftovers(int parent);

}  // namespace assay
