#include "sampling/family.hpp"

#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <new>

#include "sampling/store.hpp"

namespace assay::trace {
namespace {

struct Family {
  std::atomic<std::uint64_t> forked{0}, alone{0};  // alone: can't be sampled
  // Children that ended without a sample, and their CPU time (ns).
  std::atomic<std::uint64_t> unsampled{0}, unsampled_cpu{0};
  std::atomic<bool> told{false};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

Family* family = nullptr;
bool is_child = false;

}  // namespace

bool found_family() noexcept {
  void* room =
      mmap(nullptr, sizeof(Family), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return false;
  family = new (room) Family;
  return true;
}

void join_family() noexcept {
  is_child = true;
  ++family->forked;
}

void leave_family() noexcept {
  ++family->forked;
  ++family->alone;
}

void note_family() noexcept {
  if (!family) return;
  if (is_child) {
    timespec time{};
    if (sample_store().is_used() || clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return;
    ++family->unsampled;
    family->unsampled_cpu += static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
                             static_cast<std::uint64_t>(time.tv_nsec);
  } else if (const std::uint64_t forked = family->forked) {
    sample_store().note(
        "{\"type\":\"forks\",\"forked\":%llu,\"unsampled\":%llu,\"cpu\":%llu,"
        "\"alone\":%llu}\n",
        static_cast<unsigned long long>(forked),
        static_cast<unsigned long long>(family->unsampled.load()),
        static_cast<unsigned long long>(family->unsampled_cpu.load()),
        static_cast<unsigned long long>(family->alone.load()));
    sample_store().use();
  }
}

bool is_first_to_tell() noexcept { return !family || !family->told.exchange(true); }

}  // namespace assay::trace
