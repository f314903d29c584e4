// Small text files and folders, such as those of /proc and /sys. They avoid the C++ library's
// streams and file system: the first stream in a process sets up locales, and each stream takes
// more memory than many kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// A descriptor, which the caller closes; -1 if it can't be opened.
int open_to_read(const std::string& path);

// The whole file; nothing if it can't be read (see errno).
std::optional<std::string> read_text(const std::string& path);

// Without the end of the line; empty if it can't be read.
std::string first_line(const std::string& path);

// The names in a folder except "." and "..", unordered; empty if it can't be read.
std::vector<std::string> names_in(const std::string& folder);

}  // namespace assay
