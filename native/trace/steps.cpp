#include "steps.hpp"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern "C" void assay_heartbeat(void);  // native/heartbeat

namespace assay::trace {
namespace {

const char* last_part(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

struct Wanted {
  const char* file = nullptr;
  std::uint64_t offset = 0;
};
constinit Wanted the_wanted;

// The offset is from the first byte that is mapped, as dladdr reports it.
int look(dl_phdr_info* info, std::size_t, void* data) {
  const auto* wanted = static_cast<const Wanted*>(data);
  char program[4096] = {};
  const char* name = info->dlpi_name;
  if (!name || !*name) {
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0) return 0;
    name = program;
  }
  if (strcmp(last_part(name), wanted->file) != 0) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uint64_t page = 4096;
    const std::uint64_t first = info->dlpi_phdr[i].p_vaddr / page * page;
    step_site = info->dlpi_addr + first + wanted->offset;
    return 1;
  }
  return 0;
}

}  // namespace

bool step_wanted = false;
std::uint64_t step_site = 0;

void find_step_site() noexcept {
  const char* text = getenv("ASSAY_STEP_SITE");
  if (!text) return;
  char* rest = nullptr;
  const std::uint64_t offset = strtoull(text, &rest, 10);
  if (rest == text || *rest != ' ') return;
  the_wanted = {last_part(rest + 1), offset};
  step_wanted = true;
  dl_iterate_phdr(look, &the_wanted);
}

void python_step(const char* file, int line, std::uint64_t number) noexcept {
  if (!step_wanted || step_site != 0) return;
  if (the_wanted.offset == static_cast<std::uint64_t>(line) &&
      strcmp(last_part(file), the_wanted.file) == 0) {
    step_site = number;
  }
}

void mark_step() noexcept { assay_heartbeat(); }

}  // namespace assay::trace
