// Small text files and folders, such as those of /proc and /sys. The C++ library's streams and file
// system would do, but the first stream in a process sets up its locales, and each takes more
// memory than many a kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// A descriptor, which the caller closes; -1 where it can't be opened.
int open_to_read(const std::string& path);

// All of it; nothing where it can't be read, and errno says why.
std::optional<std::string> read_text(const std::string& path);

// Without the end of the line; empty where it can't be read.
std::string first_line(const std::string& path);

// The names in a folder but "." and "..", in no order; none where it can't be read.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace assay
