#include "storage/scratch.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "harness/ranks.hpp"
#include "storage/filesystem.hpp"
#include "storage/leftovers.hpp"

namespace assay {
namespace {

// A file system needs additional space for its metadata.
constexpr double kSpare = 1.05;
// NFS renames a file that another rank has open, and keeps it until that rank closes it.
constexpr int kRemovalTries = 50;
constexpr auto kRemovalPause = std::chrono::milliseconds(20);

std::string absolute(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> whole(realpath(path.c_str(), nullptr), std::free);
  return whole ? whole.get() : "";
}

}  // namespace

Scratch::Scratch(const Context& context, Parameters& parameters) : context_(context) {
  const std::string given = parameters.text("directory", ".");
  path_ = absolute(given);
  if (!path_.empty()) {
    parameters.resolve("directory", path_);
    parent_ = Descriptor(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  if (!parent_) {
    const std::string why = std::strerror(errno);
    const bool alone = context.local_size == context.size;
    throw KernelError("there is no directory '" + given + "' to write in" +
                      (alone ? "" : " on the host '" + host_name() + "'") + ": " + why);
  }
  limit_handler_ = std::signal(SIGXFSZ, SIG_IGN);
}

Scratch::~Scratch() {
  own_.close();
  bool removed = !made_here_;
  for (int i = 0; i < kRemovalTries && !removed; ++i) {
    if (i > 0) std::this_thread::sleep_for(kRemovalPause);
    removed = remove_scratch(parent_.get(), name_);
  }
  if (!removed) {
    std::fprintf(stderr, "assay-kernels: could not remove %s/%s: %s\n", path_.c_str(),
                 name_.c_str(), std::strerror(errno));
  }
  if (limit_handler_ != SIG_ERR) std::signal(SIGXFSZ, limit_handler_);
}

void Scratch::make(double bytes) {
  const bool first = context_.rank == 0;
  all_or_none(context_.comm, [&] {
    if (!first) return;
    leftovers_ = remove_leftovers(parent_.get());
    name_ = new_scratch_name();
    create();
  });
  broadcast(context_.comm, 0, name_);

  // A node that doesn't see rank 0's directory has a file system of its own there.
  struct stat status{};
  const bool apart = fstatat(parent_.get(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0;
  int first_apart = apart ? context_.rank : context_.size;
  MPI_Allreduce(MPI_IN_PLACE, &first_apart, 1, MPI_INT, MPI_MIN, context_.comm);
  common_ = first_apart == context_.size;
  maker_ = host_name();
  broadcast(context_.comm, 0, maker_);
  if (!common_) {
    apart_ = host_name();
    broadcast(context_.comm, first_apart, apart_);
  }
  all_or_none(context_.comm, [&] {
    if (!apart || context_.local_rank != 0) return;
    leftovers_ = remove_leftovers(parent_.get());
    create();
  });
  all_or_none(context_.comm, [&] {
    open_own();
    require_space(bytes);
  });
  MPI_Allreduce(MPI_IN_PLACE, &leftovers_, 1, MPI_INT, MPI_SUM, context_.comm);
}

void Scratch::create() {
  if (mkdirat(parent_.get(), name_.c_str(), 0700) != 0) {
    fail_with_errno("can't write in the directory '" + path_ + "'");
  }
  made_here_ = true;
  open_own();
  lock_ = create_file(own_.get(), kLockName, 0);
  flock(lock_.get(), LOCK_EX | LOCK_NB);  // where locks don't work, the name identifies the owner
}

void Scratch::open_own() {
  if (own_) return;
  own_ = Descriptor(
      openat(parent_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!own_ || fstat(own_.get(), &status) != 0) {
    fail_with_errno("could not open the new directory '" + path_ + "/" + name_ + "'");
  }
  if (status.st_uid != geteuid()) {
    throw KernelError("the new directory '" + path_ + "/" + name_ + "' belongs to another user");
  }
}

double Scratch::free_bytes() const {
  struct statvfs status{};
  if (fstatvfs(own_.get(), &status) != 0) fail_with_errno("could not query the free space");
  return static_cast<double>(status.f_bavail) * static_cast<double>(status.f_frsize);
}

void Scratch::require_space(double bytes) const {
  const double free = free_bytes();
  const double need = bytes * (common_ ? context_.size : context_.local_size) * kSpare;
  if (need <= free) return;
  throw KernelError("too little space in '" + path_ + "': " + std::to_string(std::llround(need)) +
                    " bytes are needed, with 5% to spare, but " +
                    std::to_string(std::llround(free)) +
                    " are free; use smaller files, or another directory");
}

void Scratch::require_common(const std::string& what) const {
  if (common_) return;
  throw KernelError(what + " needs a file system that all nodes share, but the host '" + apart_ +
                    "' doesn't see what the host '" + maker_ + "' creates in '" + path_ +
                    "'; name a directory of a shared file system as 'directory'");
}

std::map<std::string, Value> Scratch::facts() const {
  std::map<std::string, Value> facts{{"filesystem", filesystem_name(parent_.get())}};
  if (leftovers_ > 0) facts["leftovers_removed"] = std::int64_t{leftovers_};
  return facts;
}

}  // namespace assay
