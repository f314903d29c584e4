// network.one_sided: windows of puts, gets, sums or atomic updates of another rank's memory, each
// window ended by a flush, a lock's end or a fence.
#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "network/messages.hpp"
#include "network/onesided_work.hpp"
#include "network/pair.hpp"
#include "network/remote_memory.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMostInWindow = 4096;
constexpr std::size_t kNumber = sizeof(std::uint64_t);

enum class Sync { kFlush, kLock, kFence };

template <typename Enum>
Enum read_enum(Parameters& parameters, const std::string& name,
               const std::vector<std::string>& words) {
  const std::string word = parameters.choice(name, words[0], words);
  std::size_t place = 0;
  while (words[place] != word) ++place;
  return static_cast<Enum>(place);
}

class OneSided : public Kernel {
 public:
  OneSided(const Context& context, Parameters& parameters) : context_(context) {
    terms_.op = read_enum<RemoteOp>(
        parameters, "op", {"put", "get", "accumulate", "fetch_and_op", "compare_and_swap"});
    sync_ = read_enum<Sync>(parameters, "sync", {"flush", "lock", "fence"});
    terms_.bytes = read_message_size(parameters);
    terms_.window = static_cast<std::size_t>(parameters.integer("window", 1, 1, kMostInWindow));
    pair_ = read_pair(context, parameters, "one-sided communication");
    terms_.origin = pair_.first;
    terms_.fault = PlantedFault(parameters, {"byte", "short", "lost"});
    const std::string bytes = std::to_string(terms_.bytes);
    if (is_atomic(terms_.op) && terms_.bytes != kNumber) {
      throw KernelError("fetch_and_op and compare_and_swap update one number of 8 bytes, not " +
                        bytes);
    }
    if (terms_.op == RemoteOp::kAccumulate && terms_.bytes % kNumber != 0) {
      throw KernelError(
          "accumulate adds up numbers of 8 bytes: 'bytes' must be a multiple of 8, "
          "not " +
          bytes);
    }
  }

  void setup() override {
    if (!pair_.takes_part()) return;
    work_ = make_remote_work(terms_);
    const std::size_t bytes = work_->memory();
    allocate(bytes);
    work_->attach(pair_.first ? own_.as<unsigned char>() : remote_->own());
    prepare(0, terms_.bytes);
  }

  // With a fence both ranks take part, otherwise only the one that accesses the other's memory.
  void run(std::int64_t count) override {
    calls_ += count;
    if (!pair_.takes_part() || (!pair_.first && sync_ != Sync::kFence)) return;
    int failed = MPI_SUCCESS;
    const MPI_Win window = remote_->window();
    const int target = remote_->partner();
    for (std::int64_t k = 0; k < count; ++k) {
      if (sync_ == Sync::kLock) failed |= MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
      if (pair_.first) failed |= work_->issue(window, target);
      switch (sync_) {
        case Sync::kFlush:
          failed |= MPI_Win_flush(target, window);
          break;
        case Sync::kLock:
          failed |= MPI_Win_unlock(target, window);
          break;
        case Sync::kFence:
          failed |= MPI_Win_fence(0, window);  // ends this window, begins the next
          break;
      }
    }
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed in one-sided communication");
  }

  // Checks what all operations so far left at both ends; then one window of each smaller size, with
  // new contents.
  Verification verify() override {
    std::int64_t wrong = pair_.takes_part() ? wrong_of_pair() : 0;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes or numbers wrong, at both ends", static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return static_cast<double>(terms_.window); }
  std::int64_t max_batch() const override {
    return std::max<std::int64_t>(1, 65536 / static_cast<std::int64_t>(terms_.window));
  }
  Start start() const override { return Start::kFree; }
  bool times_here() const override { return pair_.first; }

 private:
  // The origin's buffer, on ordinary pages as in an application, and the target's window.
  void allocate(std::size_t bytes) {
    std::exception_ptr failure;
    try {
      require_memory(context_, kPartForBuffers, 2.0 * static_cast<double>(bytes), "both buffers",
                     "give a smaller number of 'bytes' or a smaller 'window'");
      if (pair_.first) own_ = Pages(bytes, Pages::Size::ordinary);
    } catch (...) {
      failure = std::current_exception();
    }
    try {
      remote_.emplace(
          pair_, pair_.first ? 0 : bytes, failure == nullptr,
          sync_ == Sync::kFlush ? RemoteMemory::Open::kAlways : RemoteMemory::Open::kByUser);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
    if (failure) std::rethrow_exception(failure);
    if (sync_ == Sync::kFence) check_mpi(MPI_Win_fence(0, remote_->window()));
  }

  // Both ranks access their own memory while neither accesses the other's.
  template <typename Access>
  void locally(Access access) {
    const MPI_Win window = remote_->window();
    const int own_rank = pair_.first ? 0 : 1;
    check_mpi(meet(pair_));
    if (sync_ == Sync::kFlush) remote_->synchronise();
    if (sync_ == Sync::kLock) check_mpi(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, own_rank, 0, window));
    if (sync_ == Sync::kFence) check_mpi(MPI_Win_fence(0, window));
    access();
    if (sync_ == Sync::kFlush) remote_->synchronise();
    if (sync_ == Sync::kLock) check_mpi(MPI_Win_unlock(own_rank, window));
    if (sync_ == Sync::kFence) check_mpi(MPI_Win_fence(0, window));
    check_mpi(meet(pair_));
  }

  void prepare(std::size_t round, std::size_t size) {
    locally([&] { work_->prepare(round, size); });
    calls_ = 0;
  }

  std::int64_t wrong_of_pair() {
    std::int64_t found = 0;
    locally([&] {
      if (terms_.fault.is("byte")) work_->damage();
      found += work_->wrong(calls_);
    });
    std::size_t round = 0;
    for (const std::size_t size : sizes_up_to(terms_.bytes)) {
      const bool numbers = terms_.op == RemoteOp::kAccumulate || is_atomic(terms_.op);
      if (numbers && size % kNumber != 0) continue;
      prepare(++round, size);
      work_->shorten();
      run(1);
      locally([&] { found += work_->wrong(calls_); });
    }
    return found;
  }

  Context context_;
  RemoteTerms terms_;
  Sync sync_ = Sync::kFlush;
  Pair pair_;
  Pages own_;
  std::unique_ptr<RemoteWork> work_;
  std::optional<RemoteMemory> remote_;
  std::int64_t calls_ = 0;  // windows since the contents were written, counted on both ranks
};

ASSAY_KERNEL("network.one_sided", OneSided);

}  // namespace
}  // namespace assay
