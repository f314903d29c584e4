// Kernels with known results. They are built for tests only.
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "harness/clock.hpp"
#include "harness/kernel.hpp"
#include "tests/kernels/spin.hpp"

namespace assay {
namespace {

// Lasts "seconds" per operation on every rank.
class Sleep : public Kernel {
 public:
  Sleep(const Context&, Parameters& parameters)
      : seconds_(parameters.real("seconds", 0.001)), most_(parameters.integer("max_batch", 1)) {}
  void setup() override {}
  void run(std::int64_t count) override {
    runs_ += count;
    const double span = seconds_ * static_cast<double>(count);
    timespec rest{static_cast<time_t>(span), 0};
    rest.tv_nsec = static_cast<long>(1e9 * (span - static_cast<double>(rest.tv_sec)));
    while (nanosleep(&rest, &rest) != 0) {
    }
  }
  Verification verify() override { return {runs_ > 0, "operations", double(runs_), 0.0}; }
  std::int64_t max_batch() const override { return most_; }

 private:
  double seconds_;
  std::int64_t most_;
  std::int64_t runs_ = 0;
};
ASSAY_KERNEL("test.sleep", Sleep);

// Reports progress "steps" times within each sample, which lasts "seconds".
class ReportsProgress : public Kernel {
 public:
  ReportsProgress(const Context& context, Parameters& parameters)
      : context_(context),
        steps_(parameters.integer("steps", 1000)),
        seconds_(parameters.real("seconds", 0.7)) {}
  void setup() override {}
  void run(std::int64_t) override {
    const auto steps = static_cast<double>(steps_);
    for (std::int64_t step = 0; step < steps_; ++step) {
      spin(seconds_ / steps);
      const double share = static_cast<double>(step + 1) / steps;
      if (context_.progress) context_.progress(share, 2.0 * share);
      calls_ += context_.progress ? 1 : 0;
    }
  }
  Verification verify() override {
    const bool right = (calls_ > 0) == (context_.rank == 0);
    return {right, "progress is for rank 0", double(calls_), 0.0};
  }
  std::int64_t max_batch() const override { return 1; }

 private:
  Context context_;
  std::int64_t steps_;
  double seconds_;
  std::int64_t calls_ = 0;
};
ASSAY_KERNEL("test.progress", ReportsProgress);

// Rank "rank" takes "seconds" for two operations, all others nothing; "times": the only rank whose
// time counts, -1 for all.
class SlowRank : public Kernel {
 public:
  SlowRank(const Context& context, Parameters& parameters)
      : context_(context),
        rank_(parameters.integer("rank", context.size - 1)),
        times_(parameters.integer("times", -1)),
        seconds_(parameters.real("seconds", 0.002)) {
    parameters.resolve("rank", rank_);
  }
  void setup() override {}
  void run(std::int64_t count) override {
    if (context_.rank == rank_) spin(seconds_ * static_cast<double>(count));
  }
  Verification verify() override { return {true, "nothing", 0.0, 0.0}; }
  double operations_per_count() const override { return 2.0; }
  std::int64_t max_batch() const override { return 1; }
  bool times_here() const override { return times_ < 0 || times_ == context_.rank; }
  std::map<std::string, Value> facts() const override { return {{"slow", rank_}}; }

 private:
  Context context_;
  std::int64_t rank_;
  std::int64_t times_;
  double seconds_;
};
ASSAY_KERNEL("test.slow_rank", SlowRank);

// Returns further series: from rank 0 one with a value per sample, a quarter of the number of calls
// of before_sample(); and one from each rank to the next.
class MoreSeries : public Kernel {
 public:
  MoreSeries(const Context& context, Parameters&) : context_(context) {}
  void setup() override {}
  void before_sample() override { ++ready_; }
  void run(std::int64_t) override {
    spin(1e-4 * (1 + context_.rank));
    phases_.push_back(0.25 * static_cast<double>(ready_));
  }
  Verification verify() override { return {true, "nothing", 0.0, 0.0}; }
  std::int64_t max_batch() const override { return 1; }
  bool keeps_fastest() const override { return true; }
  std::vector<Series> series() const override {
    std::vector<Series> all;
    if (context_.rank == 0) all.push_back({"phase", "s", {}, {}, phases_});
    const int next = (context_.rank + 1) % context_.size;
    all.push_back({"hop", "B/s", context_.rank, next, {1.0 + context_.rank}});
    return all;
  }

 private:
  Context context_;
  std::int64_t ready_ = 0;
  std::vector<double> phases_;
};
ASSAY_KERNEL("test.series", MoreSeries);

// Counts the CPUs that the main thread, a thread outside OpenMP and the last OpenMP thread may use
// while samples are taken.
class Loosened : public Kernel {
 public:
  Loosened(const Context& context, Parameters&) : context_(context), worker_([this] { wait(); }) {
    while (worker_id_ == 0) std::this_thread::yield();
  }
  ~Loosened() override {
    done_ = true;
    worker_.join();
  }
  void setup() override {}
  void run(std::int64_t) override {
    main_ = width(0);
    pool_ = width(worker_id_);
#pragma omp parallel num_threads(context_.threads)
    {
      // The last thread is the only one that writes.
#pragma omp for schedule(static, 1)
      for (int thread = 0; thread < context_.threads; ++thread) {
        if (thread == context_.threads - 1) openmp_ = width(0);
      }
    }
  }
  Verification verify() override { return {true, "nothing", 0.0, 0.0}; }
  std::int64_t max_batch() const override { return 1; }
  bool uses_blas_threads() const override { return true; }
  std::map<std::string, Value> facts() const override {
    return {{"main", main_}, {"pool", pool_}, {"openmp", openmp_}};
  }

 private:
  static std::int64_t width(pid_t thread) {
    cpu_set_t set;
    return sched_getaffinity(thread, sizeof set, &set) == 0 ? CPU_COUNT(&set) : -1;
  }
  void wait() {
    worker_id_ = gettid();
    while (!done_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Context context_;
  std::atomic<bool> done_{false};
  std::atomic<pid_t> worker_id_{0};
  std::int64_t main_ = 0;
  std::int64_t pool_ = 0;
  std::int64_t openmp_ = 0;
  std::thread worker_;
};
ASSAY_KERNEL("test.loosened", Loosened);

}  // namespace
}  // namespace assay
