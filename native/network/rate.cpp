// network.rate: messages per second of many pairs of ranks, and of pairs of threads.
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/kernel.hpp"
#include "network/conversation.hpp"
#include "network/exchange.hpp"
#include "network/pair.hpp"
#include "network/pairing.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLargestRateWindow = 4096;
// Bytes and windows of a count: threads and pairs begin within microseconds of each other, which
// must be a small part of a sample.
constexpr std::int64_t kBytesOfCount = 1 << 20;
constexpr std::int64_t kFewestWindows = 2;
constexpr std::int64_t kMostWindows = 32;

// Communicators of a rank, one for each of its threads.
class Communicators {
 public:
  Communicators() = default;
  Communicators(MPI_Comm comm, int count) {
    for (int i = 0; i < count; ++i) check_mpi(MPI_Comm_dup(comm, &each_.emplace_back()));
  }
  ~Communicators() {
    for (MPI_Comm& comm : each_) MPI_Comm_free(&comm);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  MPI_Comm operator[](std::size_t thread) const { return each_[thread]; }

 private:
  std::vector<MPI_Comm> each_;
};

class MessageRate : public Kernel {
 public:
  MessageRate(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    bytes_ = read_message_size(parameters);
    pairs_ = parameters.integer("pairs", 0, 0, context.size);
    window_ = static_cast<int>(parameters.integer("window", 64, 1, kLargestRateWindow));
    if (context.size < 2) throw KernelError("sending needs at least 2 ranks");
    const std::int64_t bytes =
        window_ * static_cast<std::int64_t>(std::max<std::size_t>(bytes_, 1));
    windows_ = std::clamp(kBytesOfCount / bytes, kFewestWindows, kMostWindows);
    require_threads();
    fault_ = read_fault(parameters);
  }

  void setup() override {
    const auto all = senders_and_receivers(context_.nodes);
    const auto most = static_cast<std::int64_t>(all.size());
    if (pairs_ > most) {
      throw KernelError("parameter 'pairs' is " + std::to_string(pairs_) + ", but only " +
                        std::to_string(most) + " ranks of the first node have a partner");
    }
    if (pairs_ == 0) pairs_ = most;
    parameters_.resolve("pairs", pairs_);
    Pair mine{context_.comm, context_.rank, MPI_PROC_NULL, false};
    for (std::int64_t i = 0; i < pairs_; ++i) {
      const auto [from, to] = all[static_cast<std::size_t>(i)];
      if (context_.rank == from || context_.rank == to) mine = pair_of(context_, from, to);
      partners_ += (i == 0 ? "" : " ") + std::to_string(from) + ">" + std::to_string(to);
    }
    first_ = mine.first;
    const int threads = context_.threads;
    require_memory(context_, kPartForBuffers, 2.0 * threads * static_cast<double>(bytes_),
                   "two buffers for each thread", "give a smaller number of 'bytes'");
    communicators_ = std::make_unique<Communicators>(context_.comm, threads);
    for (int thread = 0; thread < threads; ++thread) {
      const auto place = static_cast<std::size_t>(thread);
      mine.comm = (*communicators_)[place];
      // Other contents for each thread, so that a message of another thread shows.
      Conversation::Terms terms{Mode::kNonblocking, bytes_, 0, 1, fault_, place};
      conversations_.push_back(std::make_unique<Conversation>(context_, mine, terms));
      conversations_.back()->begin([this](const Parties& parties) {
        return make_windows(Mode::kNonblocking, false, window_, parties);
      });
    }
  }

  void run(std::int64_t count) override {
    check_mpi(by_threads<int>([&](Conversation& mine) { return mine.run(count * windows_); },
                              [](int all, int one) { return all | one; }));
  }

  // By the same threads at the same time.
  Verification verify() override {
    auto wrong =
        by_threads<std::int64_t>([](Conversation& mine) { return mine.wrong_bytes(); },
                                 [](std::int64_t all, std::int64_t one) { return all + one; });
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, of all pairs", static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return static_cast<double>(window_ * windows_); }
  std::int64_t max_batch() const override { return std::max<std::int64_t>(1, 65536 / window_); }
  bool times_here() const override { return first_; }

  std::map<std::string, Value> facts() const override { return {{"partners", partners_}}; }

 private:
  void require_threads() const {
    if (context_.threads == 1) return;
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided == MPI_THREAD_MULTIPLE) return;
    throw KernelError(std::to_string(context_.threads) +
                      " threads send, but this MPI does not provide MPI_THREAD_MULTIPLE: use "
                      "threads = 1, or an MPI library with that level");
  }

  // Calls work(conversation) on every thread, and combines the results.
  template <typename Result, typename Work, typename Combine>
  Result by_threads(Work work, Combine combine) {
    if (context_.threads == 1) return work(*conversations_[0]);
    std::vector<Result> results(conversations_.size());
    std::vector<std::exception_ptr> failures(conversations_.size());
#pragma omp parallel num_threads(context_.threads)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      try {
        results[thread] = work(*conversations_[thread]);
      } catch (...) {
        failures[thread] = std::current_exception();
      }
    }
    for (const std::exception_ptr& failure : failures) {
      if (failure) std::rethrow_exception(failure);
    }
    Result all{};
    for (const Result& one : results) all = combine(all, one);
    return all;
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves 'pairs'
  std::size_t bytes_ = 0;
  std::int64_t pairs_ = 0;
  int window_ = 1;
  std::int64_t windows_ = 1;  // of a count
  bool first_ = false;
  std::string partners_;
  PlantedFault fault_;
  std::unique_ptr<Communicators> communicators_;
  // One for each thread; destroyed before the communicators.
  std::vector<std::unique_ptr<Conversation>> conversations_;
};

ASSAY_KERNEL("network.rate", MessageRate);

}  // namespace
}  // namespace assay
