#include "storage/descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "harness/values.hpp"

namespace assay {
namespace {

Descriptor try_to_open(int directory, const std::string& name, int flags) {
  return Descriptor(openat(directory, name.c_str(), O_NOFOLLOW | O_CLOEXEC | flags, 0600));
}

Descriptor open_with(int directory, const std::string& name, int flags) {
  Descriptor file = try_to_open(directory, name, flags);
  if (!file && errno == EINVAL && (flags & O_DIRECT) != 0) {
    throw KernelError(
        "this file system does not support O_DIRECT: use method=buffered or method=fsync");
  }
  if (!file) fail_with_errno("could not open the file '" + name + "'");
  return file;
}

}  // namespace

void Descriptor::close() noexcept {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

void fail_with_errno(const std::string& doing) {
  throw KernelError(doing + ": " + reason_and_fix(errno));
}

std::string reason_and_fix(int error) {
  std::string words = std::strerror(error);
  if (error == ENOSPC || error == EDQUOT) words += "; free some space, or use smaller files";
  if (error == EFBIG) words += "; raise the limit (ulimit -f), or use smaller files";
  return words;
}

Descriptor open_file(int directory, const std::string& name, int flags) {
  return open_with(directory, name, O_RDWR | flags);
}

Descriptor open_to_read(int directory, const std::string& name) {
  return open_with(directory, name, O_RDONLY);
}

Descriptor open_if_present(int directory, const std::string& name) {
  Descriptor file = try_to_open(directory, name, O_RDONLY);
  if (!file && errno != ENOENT) fail_with_errno("could not open the file '" + name + "'");
  return file;
}

Descriptor create_file(int directory, const std::string& name, int flags) {
  return open_file(directory, name, flags | O_CREAT | O_EXCL);
}

void write_at(int file, const unsigned char* from, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t done = pwrite(file, from, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done == 0) errno = ENOSPC;
    if (done <= 0) fail_with_errno("writing at offset " + std::to_string(offset) + " failed");
    from += done;
    bytes -= static_cast<std::size_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
}

void read_at(int file, unsigned char* to, std::size_t bytes, std::uint64_t offset) {
  while (bytes > 0) {
    const ssize_t done = pread(file, to, bytes, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail_with_errno("reading at offset " + std::to_string(offset) + " failed");
    if (done == 0) {
      throw KernelError("the file ends at offset " + std::to_string(offset) +
                        ", before all that was written to it");
    }
    to += done;
    bytes -= static_cast<std::size_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
}

void flush(int file) {
  if (fsync(file) != 0) fail_with_errno("flushing a file failed");
}

void drop_cache(int file) {
  flush(file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
}

void damage_byte(int directory, const std::string& name, std::uint64_t offset) {
  const Descriptor file = open_file(directory, name, 0);
  unsigned char byte = 0;
  read_at(file.get(), &byte, 1, offset);
  byte ^= 1;
  write_at(file.get(), &byte, 1, offset);
  flush(file.get());
}

}  // namespace assay
