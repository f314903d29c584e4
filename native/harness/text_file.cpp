#include "harness/text_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

namespace assay {

int open_to_read(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }

std::optional<std::string> read_text(const std::string& path) {
  const int descriptor = open_to_read(path);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  std::array<char, 4096> part{};
  ssize_t got = 0;
  while ((got = read(descriptor, part.data(), part.size())) != 0) {
    if (got > 0) {
      text.append(part.data(), static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      break;
    }
  }
  const int why = errno;
  close(descriptor);
  errno = why;
  return got == 0 ? std::optional(std::move(text)) : std::nullopt;
}

std::string first_line(const std::string& path) {
  std::string text = read_text(path).value_or("");
  text.resize(std::min(text.find('\n'), text.size()));
  return text;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const auto close_it = [](DIR* open) { closedir(open); };
  const std::unique_ptr<DIR, decltype(close_it)> open(opendir(folder.c_str()), close_it);
  while (const dirent* const entry = open ? readdir(open.get()) : nullptr) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  return names;
}

}  // namespace assay
