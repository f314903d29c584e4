#include "harness/stream.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace assay {
namespace {

// A link in a run may lead anywhere, so it is not followed; the umask determines the permissions.
constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
constexpr mode_t kPermissions = 0666;

}  // namespace

Stream::Stream(const std::string& path) : path_(path) {
  if (path == "-") {
    path_ = "standard output";
    descriptor_ = STDOUT_FILENO;
    return;
  }
  descriptor_ = open(path.c_str(), kFlags, kPermissions);
  if (descriptor_ < 0) {
    fail(std::string("can't be opened for writing: ") + std::strerror(errno));
    return;
  }
  struct stat status{};
  if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    fail("is not empty; a stream needs a file of its own");
  }
}

Stream::~Stream() {
  if (descriptor_ > STDERR_FILENO) close(descriptor_);
}

void Stream::write(std::string line) {
  if (failed_) return;
  line += '\n';
  struct stat before{};
  const bool regular = fstat(descriptor_, &before) == 0 && S_ISREG(before.st_mode);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written < 0 ? errno : EIO;
      if (regular && rest.size() < line.size() && ftruncate(descriptor_, before.st_size) != 0) {
        // The partial line remains; readers stop at it.
      }
      fail(std::string("can't be written: ") + std::strerror(error));
      return;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Stream::fail(const std::string& what) {
  failed_ = true;
  std::fprintf(stderr, "assay-kernels: the stream %s %s\n", path_.c_str(), what.c_str());
}

}  // namespace assay
