// Threads that are pinned to one CPU each, and begin together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::check {

// No thread passes until all have arrived. It waits by polling, so that all go on within a
// microsecond; a thread that waits long gives way to others on its CPU.
class Gate {
 public:
  explicit Gate(std::size_t threads) : threads_(threads) {}

  void pass() noexcept;

 private:
  const std::size_t threads_;
  std::atomic<std::size_t> arrived_{0};
  std::atomic<std::size_t> opened_{0};
};

class Team {
 public:
  // Throws KernelError if the system refuses a thread, or to pin it.
  explicit Team(std::vector<int> cpus);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  std::size_t size() const { return cpus_.size(); }
  const std::vector<int>& cpus() const { return cpus_; }

  // Calls work(member) on every member's CPU and returns when all have returned. Rethrows the
  // first exception; work that waits at a gate must not throw.
  void run(const std::function<void(std::size_t member)>& work);

 private:
  void serve(std::size_t member);
  void dismiss() noexcept;

  std::vector<int> cpus_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t round_ = 0;
  std::size_t working_ = 0;
  bool dismissed_ = false;
  int refused_ = 0;  // the error number of a failure to pin
  std::exception_ptr error_;
  std::vector<std::thread> threads_;
};

}  // namespace assay::check
