#include "storage/filesystem.hpp"

#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

struct Known {
  std::uint64_t magic;
  const char* name;
  bool local;
};

// statfs(2) and linux/magic.h; Lustre, GPFS and BeeGFS from their own headers. An overlay may be on
// top of any file system.
constexpr std::array<Known, 18> kKnown = {{
    {0xef53, "ext4", true},
    {0x58465342, "xfs", true},
    {0x9123683e, "btrfs", true},
    {0xf2f52010, "f2fs", true},
    {0x2fc12fc1, "zfs", true},
    {0xca451a4e, "bcachefs", true},
    {0x01021994, "tmpfs", true},
    {0x858458f6, "ramfs", true},
    {0x6969, "nfs", false},
    {0x0bd00bd0, "lustre", false},
    {0x47504653, "gpfs", false},
    {0x19830326, "beegfs", false},
    {0x00c36400, "ceph", false},
    {0xff534d42, "cifs", false},
    {0x65735546, "fuse", false},
    {0x794c7630, "overlay", false},
    {0x01021997, "9p", false},
    {0x20030528, "orangefs", false},
}};

}  // namespace

std::string filesystem_name(int descriptor) {
  struct statfs status{};
  if (fstatfs(descriptor, &status) != 0) return "unknown";
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  for (const Known& each : kKnown) {
    if (each.magic == magic) return each.name;
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "0x%x", magic);
  return text.data();
}

bool is_local(const std::string& name) {
  return std::any_of(kKnown.begin(), kKnown.end(),
                     [&](const Known& each) { return each.local && name == each.name; });
}

std::optional<std::uint64_t> bytes_fetched() {
  const std::string text = read_text("/proc/self/io").value_or("");
  const std::vector<double> numbers = numbers_after(text, "read_bytes:");
  if (numbers.empty()) return std::nullopt;
  return static_cast<std::uint64_t>(numbers[0]);
}

std::optional<std::uint64_t> bytes_not_written_back(int file) {
  // Numbers and layouts of recent Linux headers, which many systems lack.
  constexpr long kCachestat = 451;  // the same on all architectures but Alpha
  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // 0: to the end
  } range;
  struct Pages {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
  } pages{};
  if (syscall(kCachestat, file, &range, &pages, 0U) != 0) return std::nullopt;
  return (pages.dirty + pages.in_writeback) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace assay
