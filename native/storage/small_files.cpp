#include "storage/small_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "storage/listing.hpp"
#include "storage/pattern.hpp"

namespace assay {
namespace {

// A pattern consists of words of 8 bytes; the rest of the last one is not written.
std::size_t whole_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

// Files differ by the place that their contents would have in one large file.
std::uint64_t place_of(std::int64_t index) {
  return static_cast<std::uint64_t>(index) * Pattern::kBlock;
}

}  // namespace

SmallFiles::SmallFiles(const Context& context, const Scratch& scratch, Layout layout,
                       std::size_t bytes, int looks_at)
    : context_(context),
      scratch_(scratch),
      layout_(layout),
      bytes_(bytes),
      looks_at_(looks_at),
      written_(whole_words(bytes)),
      read_(whole_words(bytes)) {}

std::string SmallFiles::directory_name(int rank) const {
  return layout_ == Layout::shared ? "shared" : "rank." + std::to_string(rank);
}

std::string SmallFiles::file_name(int rank, std::int64_t index) {
  return "file." + std::to_string(rank) + "." + std::to_string(index);
}

void SmallFiles::setup() {
  const auto enter = [&](int rank) {
    const std::string name = directory_name(rank);
    Descriptor directory(openat(scratch_.descriptor(), name.c_str(),
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!directory) fail_with_errno("could not open the directory '" + name + "'");
    return directory;
  };
  all_or_none(context_.comm, [&] {
    const std::string name = directory_name(context_.rank);
    if (!keeps_directory()) return;
    if (mkdirat(scratch_.descriptor(), name.c_str(), 0700) != 0) {
      fail_with_errno("could not create the directory '" + name + "'");
    }
  });
  all_or_none(context_.comm, [&] {
    own_ = enter(context_.rank);
    target_ = enter(looks_at_);
  });
}

Reached SmallFiles::create(const Stonewall& wall, std::int64_t most, std::uint64_t generation,
                           bool wears_out) {
  const Pattern pattern(static_cast<std::uint64_t>(context_.rank), written_.size());
  generation_ = generation;
  pattern.fill(written_.data(), generation);
  const Reached reached = wall.run(
      most,
      [&](std::int64_t index) {
        const Descriptor file = create_file(own_.get(), file_name(context_.rank, index), 0);
        if (bytes_ == 0) return;
        pattern.place(written_.data(), place_of(index), generation_);
        write_at(file.get(), written_.data(), bytes_, 0);
      },
      wears_out);
  files_ = reached.most;
  if (syncfs(own_.get()) != 0) fail_with_errno("flushing the file system failed");
  return reached;
}

void SmallFiles::stat() {
  for (std::int64_t index = 0; index < files_; ++index) {
    unless_stopped();
    const std::string name = file_name(looks_at_, index);
    struct stat status{};
    if (fstatat(target_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) fail_with_errno("could not stat the file '" + name + "'");
      status = {};
    }
    const bool right =
        S_ISREG(status.st_mode) && static_cast<std::size_t>(status.st_size) == bytes_;
    wrong_ += right ? 0 : 1;
  }
}

void SmallFiles::read() {
  const Pattern pattern(static_cast<std::uint64_t>(looks_at_), written_.size());
  pattern.fill(written_.data(), generation_);
  for (std::int64_t index = 0; index < files_; ++index) {
    unless_stopped();
    const Descriptor file = open_if_present(target_.get(), file_name(looks_at_, index));
    if (!file) {
      ++wrong_;
      continue;
    }
    read_at(file.get(), read_.data(), bytes_, 0);
    pattern.place(written_.data(), place_of(index), generation_);
    wrong_ += std::memcmp(read_.data(), written_.data(), bytes_) == 0 ? 0 : 1;
  }
}

void SmallFiles::remove(bool all_but_one) {
  for (std::int64_t index = all_but_one ? 1 : 0; index < files_; ++index) {
    unless_stopped();
    const std::string name = file_name(looks_at_, index);
    if (unlinkat(target_.get(), name.c_str(), 0) == 0) continue;
    if (errno != ENOENT) fail_with_errno("could not remove the file '" + name + "'");
    ++wrong_;
  }
}

void SmallFiles::clear() const {
  if (!keeps_directory()) return;
  for (const std::string& name : entries(own_.get())) {
    if (unlinkat(own_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
      fail_with_errno("could not remove the last sample's file '" + name + "'");
    }
  }
}

void SmallFiles::drop() const {
  if (bytes_ == 0) return;
  for (std::int64_t index = 0; index < files_; ++index) {
    unless_stopped();
    const Descriptor file = open_to_read(own_.get(), file_name(context_.rank, index));
    // Written through by create().
    posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
}

void SmallFiles::lose() { unlinkat(own_.get(), file_name(context_.rank, 0).c_str(), 0); }

std::int64_t SmallFiles::names_with(const std::string& text) const {
  std::int64_t found = 0;
  for (std::int64_t index = 0; index < files_; ++index) {
    found += file_name(context_.rank, index).find(text) == std::string::npos ? 0 : 1;
  }
  return found;
}

std::int64_t SmallFiles::take_wrong() {
  std::int64_t left = 0;
  if (keeps_directory()) {
    Listing listing(own_.get());
    while (listing.next() != nullptr) ++left;
  }
  return std::exchange(wrong_, 0) + left;
}

}  // namespace assay
