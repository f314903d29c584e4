#include "files/message.hpp"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cstddef>

namespace assay::trace {

void say(const char* text, const char* where, int problem) noexcept {
  char line[1024];
  const int length =
      problem ? snprintf(line, sizeof line, "assay: %s '%s': %s.\n", text, where, strerror(problem))
              : snprintf(line, sizeof line, "assay: %s\n", text);
  if (length > 0) {
    const std::size_t size = static_cast<std::size_t>(length) < sizeof line ? length : sizeof line;
    if (write(STDERR_FILENO, line, size) < 0) return;
  }
}

}  // namespace assay::trace
