#include "harness/thread_times.hpp"

#include <fcntl.h>
#include <omp.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "harness/proc_text.hpp"

namespace assay {
namespace {

// The scheduler's counter of a thread lags behind by up to a tick; its own CPU clock doesn't.
double cpu_time_of_this_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

ThreadTimes::ThreadTimes(int threads) : files_(static_cast<std::size_t>(threads), -1) {
#pragma omp parallel num_threads(threads)
  files_[static_cast<std::size_t>(omp_get_thread_num())] =
      open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

ThreadTimes::~ThreadTimes() {
  for (const int file : files_) {
    if (file >= 0) close(file);
  }
}

ThreadTimes::Reading ThreadTimes::read() const {
  Reading reading;
  for (const int file : files_) {
    char text[96];
    const ssize_t length = file < 0 ? 0 : pread(file, text, sizeof text, 0);
    // Time on a CPU and time waiting for one, both in ns, and the number of time slices.
    const auto numbers = numbers_after(
        std::string_view(text, static_cast<std::size_t>(std::max<ssize_t>(length, 0))), "");
    if (numbers.size() < 2) {
      reading.waited.clear();
      break;
    }
    reading.waited.push_back(1e-9 * numbers[1]);
  }
  reading.ran = cpu_time_of_this_thread();
  reading.time = ticks();
  return reading;
}

std::optional<ThreadTimes::Span> between(const ThreadTimes::Reading& before,
                                         const ThreadTimes::Reading& after) {
  if (before.waited.empty() || before.waited.size() != after.waited.size()) return std::nullopt;
  ThreadTimes::Span span;
  for (std::size_t i = 0; i < before.waited.size(); ++i) {
    const double waited = std::max(after.waited[i] - before.waited[i], 0.0);
    span.waited += waited;
    span.longest = std::max(span.longest, waited);
  }
  const double own = std::max(after.waited[0] - before.waited[0], 0.0);
  const double whole = seconds(after.time - before.time);
  span.asleep = std::max(whole - (after.ran - before.ran) - own, 0.0);
  return span;
}

}  // namespace assay
