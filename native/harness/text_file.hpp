// Small text files, such as those of /proc and /sys. Streams would do, but the first one in a
// process sets up the C++ library's locales, which takes more memory than many a kernel.
#pragma once

#include <optional>
#include <string>

namespace assay {

// All of it; nothing where it can't be read, and errno says why.
std::optional<std::string> read_text(const std::string& path);

// Without the end of the line; empty where it can't be read.
std::string first_line(const std::string& path);

}  // namespace assay
