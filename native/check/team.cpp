#include "check/team.hpp"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "harness/values.hpp"

namespace assay::check {
namespace {

// Polls before a waiting thread offers its CPU to others: about 0.1 ms.
constexpr int kPolls = 4096;

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int pin_to(int cpu) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  return pthread_setaffinity_np(pthread_self(), sizeof only, &only);
}

}  // namespace

void Gate::pass() noexcept {
  const std::size_t before = opened_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    arrived_.store(0, std::memory_order_relaxed);
    opened_.store(before + 1, std::memory_order_release);
    return;
  }
  for (int polls = 0; opened_.load(std::memory_order_acquire) == before; ++polls) {
    if (polls < kPolls) {
      relax();
    } else {
      sched_yield();
    }
  }
}

Team::Team(std::vector<int> cpus) : cpus_(std::move(cpus)) {
  working_ = cpus_.size();
  try {
    for (std::size_t member = 0; member < cpus_.size(); ++member) {
      threads_.emplace_back([this, member] { serve(member); });
    }
  } catch (const std::system_error& error) {
    dismiss();
    throw KernelError("the system refused a thread for each of " + std::to_string(cpus_.size()) +
                      " CPUs: " + error.code().message());
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return working_ == 0; });
  if (refused_ == 0) return;
  lock.unlock();
  dismiss();
  throw KernelError(std::string("the system refused to pin a thread to its CPU: ") +
                    std::strerror(refused_));
}

Team::~Team() { dismiss(); }

void Team::dismiss() noexcept {
  {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
  }
  changed_.notify_all();
  for (std::thread& each : threads_) each.join();
  threads_.clear();
}

void Team::run(const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(mutex_);
  work_ = &work;
  working_ = cpus_.size();
  error_ = nullptr;
  ++round_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return working_ == 0; });
  work_ = nullptr;
  if (error_) std::rethrow_exception(error_);
}

void Team::serve(std::size_t member) {
  const int refused = pin_to(cpus_[member]);
  std::unique_lock lock(mutex_);
  if (refused != 0) refused_ = refused;
  std::size_t served = 0;
  for (;;) {
    if (--working_ == 0) changed_.notify_all();
    changed_.wait(lock, [&] { return dismissed_ || round_ != served; });
    if (dismissed_) return;
    served = round_;
    const auto* const work = work_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*work)(member);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
  }
}

}  // namespace assay::check
