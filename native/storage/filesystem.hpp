// Type of a file system, and the page cache's counters of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// Its name, such as "ext4" or "lustre"; "0x…" for an unknown one.
std::string filesystem_name(int descriptor);

// Whether only this node can write to a file system of that name.
bool is_local(const std::string& name);

// Bytes that this process has made the system fetch from storage so far (/proc/self/io, proc(5):
// read_bytes); nothing if the system doesn't report it.
std::optional<std::uint64_t> bytes_fetched();

// Bytes of the file that were written and have not reached the device (cachestat(2), Linux 6.5);
// nothing if the system doesn't report it.
std::optional<std::uint64_t> bytes_not_written_back(int file);

}  // namespace assay
