#include "storage/listing.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <string_view>

namespace assay {

Listing::Listing(int directory) {
  // A separate descriptor, so that reading starts at the beginning.
  const int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return;
  stream_ = fdopendir(own);
  if (stream_ == nullptr) ::close(own);
}

Listing::~Listing() {
  if (stream_ != nullptr) closedir(static_cast<DIR*>(stream_));
}

const char* Listing::next() {
  if (stream_ == nullptr) return nullptr;
  while (const dirent* each = readdir(static_cast<DIR*>(stream_))) {
    const std::string_view name = each->d_name;
    if (name != "." && name != "..") return each->d_name;
  }
  return nullptr;
}

std::vector<std::string> entries(int directory) {
  std::vector<std::string> names;
  Listing listing(directory);
  while (const char* name = listing.next()) names.emplace_back(name);
  return names;
}

}  // namespace assay
