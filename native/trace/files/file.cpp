#include "files/file.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <initializer_list>

#include "events/format.hpp"
#include "files/file_limit.hpp"

namespace assay::trace {
namespace {

// Above the descriptors that programs close or expect to get.
constexpr int kHighDescriptor = 900;

std::uint32_t put(std::uint8_t* to, std::uint64_t value) {  // LEB128
  std::uint32_t length = 0;
  for (; value > 0x7f; value >>= 7) to[length++] = static_cast<std::uint8_t>(value | 0x80);
  to[length++] = static_cast<std::uint8_t>(value);
  return length;
}

}  // namespace

void TraceFile::reserve() noexcept {
  const int problem = errno;
  const int low = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  const int high = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high >= 0) ::close(high);
  if (low >= 0) ::close(low);
  errno = problem;
}

bool TraceFile::open(const char* path, const char* magic, int flags) noexcept {
  problem_ = 0;
  const int low = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
  if (low < 0) {
    problem_ = errno;
    return false;
  }
  const int high = fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high >= 0) ::close(low);
  descriptor_ = high >= 0 ? high : low;
  struct stat status{};
  if (fstat(descriptor_, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  append(reinterpret_cast<const std::uint8_t*>(magic),
         static_cast<std::uint32_t>(std::strlen(magic)), nullptr, 0);
  return problem_ == 0;
}

// The program may have closed the descriptor and opened a file of its own under its number.
bool TraceFile::still_mine() const noexcept {
  struct stat status{};
  return fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void TraceFile::append(const std::uint8_t* head, std::uint32_t head_length, const void* payload,
                       std::uint32_t length) noexcept {
  if (!writing()) return;
  const off_t begin = offset_;
  const auto total = static_cast<off_t>(head_length) + static_cast<off_t>(length);
  if (is_beyond_limit(begin + total)) {
    problem_ = EFBIG;
    return;
  }
  if (!still_mine()) {
    problem_ = EBADF;
    return;
  }
  iovec parts[] = {{const_cast<std::uint8_t*>(head), head_length},
                   {const_cast<void*>(payload), length}};
  iovec* first = parts;
  int count = length ? 2 : 1;
  while (offset_ < begin + total) {
    const ssize_t done = pwritev(descriptor_, first, count, offset_);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      problem_ = done < 0 ? errno : ENOSPC;
      offset_ = begin;
      if (ftruncate(descriptor_, begin) != 0) return;  // the reader leaves the torn block out
      return;
    }
    offset_ += done;
    for (auto left = static_cast<std::size_t>(done); left > 0 && count > 0;) {
      const std::size_t part = left < first->iov_len ? left : first->iov_len;
      first->iov_base = static_cast<char*>(first->iov_base) + part;
      first->iov_len -= part;
      left -= part;
      if (first->iov_len == 0) {
        ++first;
        --count;
      }
    }
  }
}

void TraceFile::block(char type, const void* payload, std::uint32_t length) noexcept {
  if (length == 0) return;
  std::uint8_t head[16] = {static_cast<std::uint8_t>(type)};
  std::uint32_t used = 1 + put(head + 1, length);
  const std::uint32_t sum = checksum(static_cast<const std::uint8_t*>(payload), length);
  std::memcpy(head + used, &sum, sizeof sum);
  append(head, used + sizeof sum, payload, length);
}

void TraceFile::events(const void* payload, std::uint32_t length, const Counts& counts) noexcept {
  if (counts.events == 0) return;
  std::uint8_t head[64] = {'E'};
  std::uint32_t used = 1;
  for (const std::uint64_t one :
       {std::uint64_t{length}, counts.events, counts.requests, counts.completions}) {
    used += put(head + used, one);
  }
  const std::uint32_t sum = checksum(static_cast<const std::uint8_t*>(payload), length);
  std::memcpy(head + used, &sum, sizeof sum);
  append(head, used + sizeof sum, payload, length);
}

void TraceFile::forget() noexcept {
  if (descriptor_ > 0 && still_mine()) ::close(descriptor_);
  *this = TraceFile{};
}

void TraceFile::close() noexcept {
  if (descriptor_ > 0 && still_mine() && ::close(descriptor_) != 0 && problem_ == 0) {
    problem_ = errno;
  }
  descriptor_ = 0;
}

}  // namespace assay::trace
