#include "memory/numa.hpp"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"
#include "memory/pages.hpp"

namespace assay {
namespace {

constexpr int kMostNodes = 1 << 12;
constexpr int kBitsOfWord = sizeof(unsigned long) * CHAR_BIT;

std::string folder_of(int node) { return "/sys/devices/system/node/node" + std::to_string(node); }

// Bytes available on a node without swapping, from its meminfo: free memory and the file cache. 0
// if unknown.
std::size_t memory_of_node(const std::string& meminfo) {
  std::size_t bytes = 0;
  for (const std::string_view each : lines_of(meminfo)) {
    const std::string line(each);
    char name[64] = {};
    std::size_t kibibytes = 0;
    if (std::sscanf(line.c_str(), "Node %*d %63[^:]: %zu kB", name, &kibibytes) != 2) continue;
    const std::string key = name;
    if (key == "MemFree" || key == "Inactive(file)" || key == "SReclaimable") {
      bytes += kibibytes * 1024;
    }
  }
  return bytes;
}

}  // namespace

void bind_memory(void* start, std::size_t bytes, int node) {
  std::vector<unsigned long> mask(kMostNodes / kBitsOfWord, 0);
  const auto word = static_cast<std::size_t>(node / kBitsOfWord);
  if (word < mask.size()) mask[word] = 1UL << (node % kBitsOfWord);
  const long status =
      syscall(SYS_mbind, start, bytes, MPOL_BIND, mask.data(), mask.size() * kBitsOfWord + 1, 0);
  if (status == 0) return;
  throw KernelError("the system refused to bind memory to NUMA node " + std::to_string(node) +
                    " (mbind): " + std::strerror(errno));
}

int node_of_page(void* address) {
  int node = -1;
  const long status =
      syscall(SYS_get_mempolicy, &node, nullptr, 0UL, address, MPOL_F_NODE | MPOL_F_ADDR);
  return status == 0 ? node : -1;
}

int read_memory_node(Parameters& parameters, Context& context) {
  const std::int64_t node = parameters.integer("memory_node", Pages::kFirstTouch);
  if (node == Pages::kFirstTouch) return Pages::kFirstTouch;
  std::optional<std::string> meminfo;
  if (node >= 0 && node < kMostNodes) {
    meminfo = read_text(folder_of(static_cast<int>(node)) + "/meminfo");
  }
  if (!meminfo) {
    throw KernelError("parameter 'memory_node' is " + std::to_string(node) +
                      ", but there is no such NUMA node here");
  }
  const std::size_t there = memory_of_node(*meminfo);
  if (there > 0 && context.node_memory_available > 0) {
    context.node_memory_available = std::min(context.node_memory_available, there);
  }
  return static_cast<int>(node);
}

}  // namespace assay
