#include "memory/pages.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"
#include "memory/numa.hpp"

namespace assay {
namespace {

// Size on x86-64 and on aarch64 with 4 KiB pages; elsewhere the alignment does no harm.
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// Mappings of this size and more release the spare pages.
constexpr std::size_t kMuch = std::size_t{64} << 20;

std::vector<Pages>& spare_pages() {
  static std::vector<Pages> spare;
  return spare;
}

std::size_t spare_bytes() {
  std::size_t bytes = 0;
  for (const Pages& each : spare_pages()) bytes += each.bytes();
  return bytes;
}

}  // namespace

Pages take_spare_pages(std::size_t bytes, Pages::Size size, int node) {
  std::vector<Pages>& spare = spare_pages();
  for (Pages& each : spare) {
    if (each.bytes() != bytes || each.size() != size || each.node() != node) continue;
    Pages found = std::move(each);
    each = std::move(spare.back());
    spare.pop_back();
    return found;
  }
  return Pages(bytes, size, node);
}

void keep_as_spare(Pages&& pages) {
  if (pages.bytes() > 0) spare_pages().push_back(std::move(pages));
}

Pages::Pages(std::size_t bytes, Size size, int node) : size_(size), node_(node) {
  if (bytes >= kMuch) spare_pages().clear();
  const std::size_t slack = size == Size::huge ? kHugePage : 0;
  mapped_ = bytes + slack;
  if (mapped_ == 0) return;
  mapping_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw KernelError("the system refused " + std::to_string(bytes) +
                      " bytes of memory: " + std::strerror(errno));
  }
  const auto address = reinterpret_cast<std::uintptr_t>(mapping_);
  const std::size_t shift = slack == 0 ? 0 : (kHugePage - address % kHugePage) % kHugePage;
  start_ = static_cast<char*>(mapping_) + shift;
  bytes_ = bytes;
  try {
    if (node >= 0) bind_memory(mapping_, mapped_, node);
  } catch (...) {
    munmap(mapping_, mapped_);
    throw;
  }
#ifdef MADV_HUGEPAGE
  // Advice only: without transparent huge pages the kernel declines, and nothing else changes.
  if (size == Size::huge) madvise(start_, bytes, MADV_HUGEPAGE);
  if (size == Size::small) madvise(start_, bytes, MADV_NOHUGEPAGE);
#endif
}

Pages::~Pages() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

std::size_t Pages::on_huge_pages() const {
  // Advice splits a mapping, and neighbours may be merged; every mapping within the range is
  // counted.
  const auto low = reinterpret_cast<std::uintptr_t>(start_);
  const std::string smaps = read_text("/proc/self/smaps").value_or("");
  std::size_t found = 0;
  bool within = false;
  for (const std::string_view each : lines_of(smaps)) {
    const std::string line(each);
    unsigned long from = 0;
    unsigned long to = 0;
    std::size_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      within = from < low + bytes_ && to > low;
    } else if (within && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kibibytes) == 1) {
      found += kibibytes * 1024;
    }
  }
  return found < bytes_ ? found : bytes_;
}

double memory_per_rank(const Context& context, double part) {
  if (context.node_memory_available == 0) return std::numeric_limits<double>::infinity();
  return part * (static_cast<double>(context.node_memory_available) / context.local_size +
                 static_cast<double>(spare_bytes()));
}

void require_memory(const Context& context, double part, double bytes, const std::string& what,
                    const std::string& fix) {
  const double allowed = memory_per_rank(context, part);
  if (bytes <= allowed) return;
  const auto mebibytes = [](double number) {
    return std::to_string(std::llround(number / 0x1p20)) + " MiB";
  };
  throw KernelError(
      what + " take " + mebibytes(bytes) + " of memory on each of " +
      std::to_string(context.local_size) + (context.local_size == 1 ? " rank" : " ranks") +
      " of this node, but " + mebibytes(allowed) + " are the most (" +
      std::to_string(std::llround(100 * part)) + "% of " +
      mebibytes(static_cast<double>(context.node_memory_available)) + " available); " + fix);
}

}  // namespace assay
