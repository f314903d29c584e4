#include "harness/monitor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <chrono>

namespace assay {
namespace {

constexpr std::array kFiles{"/proc/self/stat", "/proc/self/statm", "/proc/self/schedstat",
                            "/proc/self/io", "/proc/net/dev"};

}  // namespace

Monitor::Monitor(std::int64_t rate) {
  if (rate <= 0) return;
  for (const char* name : kFiles) {
    const int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);  // only root may be able to read I/O
  }
  // Signals are for the rank's own thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, rate] { watch(rate); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Monitor::~Monitor() {
  end();
  for (const int file : files_) close(file);
}

std::int64_t Monitor::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  woken_.notify_all();
  if (thread_.joinable()) thread_.join();
  return readings_;
}

void Monitor::watch(std::int64_t rate) {
  const std::chrono::nanoseconds interval{std::int64_t{1'000'000'000} / rate};
  auto next = std::chrono::steady_clock::now() + interval;
  std::unique_lock lock(mutex_);
  while (!woken_.wait_until(lock, next, [this] { return ended_; })) {
    next += interval;
    read();
    ++readings_;
  }
}

void Monitor::read() {
  std::array<char, 4096> text;
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  for (const int file : files_) {
    off_t at = 0;
    for (ssize_t got = 1; got > 0; at += got) {
      got = pread(file, text.data(), text.size(), at);
    }
  }
}

}  // namespace assay
