#include "sampled.hpp"

#include <dlfcn.h>

#include "call.hpp"
#include "process.hpp"
#include "profile.hpp"
#include "sampling/attached.hpp"

namespace assay::trace {
namespace {

template <class Function>
Function found(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

int is_inside() { return Call::is_inside(); }
bool is_recorded() { return profile().on.load(std::memory_order_relaxed); }

}  // namespace

void attach_sampling() noexcept {
  const auto attach = found<decltype(&assay_sampling_attach)>("assay_sampling_attach");
  const Profile& mine = profile();
  const SampledRank rank{mine.rank, mine.size, file_stem(), mine.begin, is_inside, is_recorded};
  if (attach) attach(&rank);
}

void flush_sampling() noexcept {
  if (const auto flush = found<decltype(&assay_sampling_flush)>("assay_sampling_flush")) flush();
}

}  // namespace assay::trace
