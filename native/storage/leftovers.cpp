#include "storage/leftovers.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <random>
#include <string_view>
#include <vector>

#include "harness/text_file.hpp"
#include "storage/descriptor.hpp"
#include "storage/filesystem.hpp"
#include "storage/listing.hpp"

namespace assay {
namespace {

constexpr std::string_view kPrefix = "assay-storage_";
// Depth of a scratch directory: one directory per rank. Nothing deeper is ever created.
constexpr int kDepth = 2;
// Prefixes of the names that kernels use; MPI libraries append to them. Nothing else is ever
// removed.
constexpr std::array<std::string_view, 4> kOwnNames = {"data", "file.", "rank.", "shared"};

std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Field 22 of /proc/PID/stat; nothing if there is no such process.
std::optional<std::uint64_t> start_of(int pid) {
  const std::string text = read_text("/proc/" + std::to_string(pid) + "/stat").value_or("");
  // The command, field 2, is in brackets and may hold any character.
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  if (at == std::string::npos) return std::nullopt;
  std::uint64_t start = 0;
  const char* const end = text.data() + text.size();
  if (std::from_chars(text.data() + at + 1, end, start).ec != std::errc()) return std::nullopt;
  return start;
}

template <class Number>
bool whole_number(std::string_view text, Number& number, int base = 10) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stopped == end;
}

Descriptor enter(int parent, const std::string& name) {
  return Descriptor(openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool removed_or_absent(int failed) { return failed == 0 || errno == ENOENT; }

bool is_own_name(std::string_view name) {
  return std::any_of(kOwnNames.begin(), kOwnNames.end(),
                     [&](std::string_view each) { return name.starts_with(each); });
}

// The lock is removed last: while it exists, others can determine whether its holder is alive.
bool empty_directory(int directory, int depth) {
  bool all = true;
  for (const std::string& name : entries(directory)) {
    if (name == kLockName) continue;
    const bool own = is_own_name(name);
    if (own && removed_or_absent(unlinkat(directory, name.c_str(), 0))) continue;
    bool removed = false;
    if (const Descriptor inner = own && depth > 1 ? enter(directory, name) : Descriptor()) {
      removed = empty_directory(inner.get(), depth - 1) &&
                removed_or_absent(unlinkat(directory, name.c_str(), AT_REMOVEDIR));
    }
    if (!own) errno = ENOTEMPTY;
    all = all && removed;
  }
  return all && removed_or_absent(unlinkat(directory, kLockName, 0));
}

bool is_mine(int directory) {
  struct stat status{};
  return fstat(directory, &status) == 0 && status.st_uid == geteuid();
}

// Removes the directory if its creator has ended. Holds the lock meanwhile, so that no other
// process does the same.
bool remove_if_orphaned(int parent, const std::string& name, bool local) {
  const std::optional<ScratchOwner> owner = owner_of(name);
  if (!owner) return false;
  const Descriptor directory = enter(parent, name);
  if (!directory || !is_mine(directory.get())) return false;
  const bool here = owner->host == this_host();
  if (here && start_of(owner->pid) == owner->start) return false;
  const Descriptor lock(openat(directory.get(), kLockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
  if (lock) {
    const bool taken = flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (!taken && (errno == EWOULDBLOCK || !here)) return false;
    if (!here && !local) return false;
  } else if (!here) {
    return false;
  }
  return empty_directory(directory.get(), kDepth) &&
         removed_or_absent(unlinkat(parent, name.c_str(), AT_REMOVEDIR));
}

}  // namespace

std::string new_scratch_name() {
  std::random_device device;
  const std::uint64_t random = (std::uint64_t{device()} << 32) | device();
  std::array<char, 17> digits{};
  std::to_chars(digits.data(), digits.data() + digits.size() - 1, random, 16);
  const int pid = getpid();
  return std::string(kPrefix) + this_host() + "_" + std::to_string(pid) + "_" +
         std::to_string(start_of(pid).value_or(0)) + "_" + digits.data();
}

std::optional<ScratchOwner> owner_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest = std::string_view(name).substr(kPrefix.size());
  std::array<std::string_view, 3> last;  // a host's name may hold the separator, these fields don't
  for (auto field = last.rbegin(); field != last.rend(); ++field) {
    const std::size_t at = rest.rfind('_');
    if (at == std::string_view::npos) return std::nullopt;
    *field = rest.substr(at + 1);
    rest = rest.substr(0, at);
  }
  ScratchOwner owner{std::string(rest)};
  std::uint64_t random = 0;
  const bool whole = whole_number(last[0], owner.pid) && whole_number(last[1], owner.start) &&
                     whole_number(last[2], random, 16);
  if (!whole || rest.empty() || owner.pid <= 0) return std::nullopt;
  return owner;
}

bool remove_scratch(int parent, const std::string& name) {
  const Descriptor directory = enter(parent, name);
  if (!directory) return errno == ENOENT;
  return empty_directory(directory.get(), kDepth) &&
         removed_or_absent(unlinkat(parent, name.c_str(), AT_REMOVEDIR));
}

int remove_leftovers(int parent) {
  const bool local = is_local(filesystem_name(parent));
  int removed = 0;
  for (const std::string& name : entries(parent)) {
    if (name.starts_with(kPrefix) && remove_if_orphaned(parent, name, local)) ++removed;
  }
  return removed;
}

}  // namespace assay
