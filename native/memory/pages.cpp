#include "memory/pages.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"
#include "memory/numa.hpp"

namespace assay {
namespace {

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
  mapping_ = Mapping(bytes, size);
  if (node >= 0 && bytes > 0) bind_memory(mapping_.whole(), mapping_.whole_bytes(), node);
  mapping_.advise(size);
}

std::size_t Pages::on_huge_pages() const {
  // Advice splits a mapping, and neighbours may be merged; every mapping within the range is
  // counted.
  const auto low = reinterpret_cast<std::uintptr_t>(mapping_.start());
  const std::string smaps = read_text("/proc/self/smaps").value_or("");
  std::size_t found = 0;
  bool within = false;
  for (const std::string_view each : lines_of(smaps)) {
    const std::string line(each);
    unsigned long from = 0;
    unsigned long to = 0;
    std::size_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &from, &to) == 2) {
      within = from < low + bytes() && to > low;
    } else if (within && std::sscanf(line.c_str(), "AnonHugePages: %zu kB", &kibibytes) == 1) {
      found += kibibytes * 1024;
    }
  }
  return std::min(found, bytes());
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
