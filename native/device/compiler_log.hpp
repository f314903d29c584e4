// What a compiler of kernels said.
#pragma once

#include <algorithm>
#include <string>

namespace assay::device {

// The first line of a compiler's output that names an error, or else the first line.
inline std::string first_error(const std::string& whole) {
  const std::string log = whole.substr(0, whole.find('\0'));
  const std::size_t named = log.find("error");
  const std::size_t line = named == std::string::npos || log.rfind('\n', named) == std::string::npos
                               ? 0
                               : log.rfind('\n', named) + 1;
  return log.substr(line, log.find('\n', line) - line);
}

}  // namespace assay::device
