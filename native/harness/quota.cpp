#include "harness/quota.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

std::vector<std::string> parts(std::string_view text, char separator) {
  std::vector<std::string> found;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    found.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return found;
}

bool lists(const std::string& words, const std::string& controller) {
  const auto all = parts(words, ',');
  return std::find(all.begin(), all.end(), controller) != all.end();
}

// A mounted hierarchy: the mounted part (`root`) and the mount point.
struct Mount {
  std::string root;
  std::string where;
};

std::optional<Mount> mount_of(const std::string& mountinfo, bool unified,
                              const std::string& controller) {
  for (const std::string& line : parts(mountinfo, '\n')) {
    const auto words = parts(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (dash - words.begin() < 6 || words.end() - dash < 4) continue;
    const bool right =
        unified ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists(dash[3], controller);
    if (right) return Mount{words[3], words[4]};
  }
  return std::nullopt;
}

bool has_limit(const std::string& group) {
  // cpu.max: "max 100000", or the microseconds per period; in version 1, -1 means no limit.
  const std::string unified = first_line(group + "/cpu.max");
  if (!unified.empty()) return !unified.starts_with("max");
  const auto quota = first_number(first_line(group + "/cpu.cfs_quota_us"));
  return quota && *quota > 0.0;
}

}  // namespace

std::vector<std::string> cpu_groups(const std::string& cgroup, const std::string& mountinfo) {
  return groups_of("cpu", cgroup, mountinfo);
}

std::vector<std::string> groups_of(const std::string& controller, const std::string& cgroup,
                                   const std::string& mountinfo) {
  std::optional<std::string> path;
  bool unified = false;
  for (const std::string& line : parts(cgroup, '\n')) {
    // hierarchy:controllers:path; in version 2 hierarchy 0 without controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', std::min(first, line.size() - 1) + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool own = lists(controllers, controller);
    if (own || (controllers.empty() && !path)) {
      path = line.substr(second + 1);
      unified = !own;
    }
  }
  if (!path) return {};
  const auto mount = mount_of(mountinfo, unified, controller);
  // A path that leads up ("/../..") belongs to a group outside this namespace.
  if (!mount || path->starts_with("/..")) return {};
  std::string within = *path;
  if (mount->root != "/" && within.starts_with(mount->root)) within.erase(0, mount->root.size());
  while (!within.empty() && within.back() == '/') within.pop_back();
  std::vector<std::string> folders;
  while (!within.empty()) {
    folders.push_back(mount->where + within);
    within.resize(std::min(within.rfind('/'), within.size() - 1));
  }
  folders.push_back(mount->where);
  return folders;
}

CpuQuota::CpuQuota() {
  const auto groups = read_text("/proc/self/cgroup");
  const auto mounts = read_text("/proc/self/mountinfo");
  if (groups && mounts) open_limited(cpu_groups(*groups, *mounts));
}

CpuQuota::CpuQuota(const std::vector<std::string>& groups) { open_limited(groups); }

CpuQuota::~CpuQuota() {
  for (const int file : files_) close(file);
}

void CpuQuota::open_limited(const std::vector<std::string>& groups) {
  known_ = !groups.empty();
  for (const std::string& group : groups) {
    if (!has_limit(group)) continue;
    const int file = open((group + "/cpu.stat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);
  }
}

std::optional<double> CpuQuota::held_back() const {
  if (!known_) return std::nullopt;
  double total = 0.0;
  for (const int file : files_) {
    char text[1024];
    const ssize_t length = pread(file, text, sizeof text, 0);
    if (length <= 0) return std::nullopt;
    const std::string_view said(text, static_cast<std::size_t>(length));
    const auto microseconds = numbers_after(said, "throttled_usec ");
    const auto nanoseconds = numbers_after(said, "throttled_time ");
    if (!microseconds.empty()) {
      total += 1e-6 * microseconds[0];
    } else if (!nanoseconds.empty()) {
      total += 1e-9 * nanoseconds[0];
    }
  }
  return total;
}

}  // namespace assay
