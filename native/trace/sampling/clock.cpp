#include "sampling/clock.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace assay::trace {
namespace {

// Above the descriptors that programs close or expect to get.
constexpr int kHighDescriptor = 900;
constexpr std::uint64_t kSecond = 1'000'000'000;

timespec time_of(std::uint64_t nanoseconds) {
  return {static_cast<time_t>(nanoseconds / kSecond), static_cast<long>(nanoseconds % kSecond)};
}

}  // namespace

int ThreadClock::start(int number, std::uint64_t period, double part) noexcept {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = number;
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer_) == 0) {
    const auto first = static_cast<std::uint64_t>(part * static_cast<double>(period));
    itimerspec times{};
    times.it_interval = time_of(period);
    times.it_value = time_of(first > 0 ? first : 1);
    if (timer_settime(timer_, 0, &times, nullptr) == 0) {
      has_timer_ = true;
      return 0;
    }
    timer_delete(timer_);
  }
  const int problem = errno;
  return start_counter(number, period) == 0 ? 0 : problem;
}

int ThreadClock::start_counter(int number, std::uint64_t period) noexcept {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_TASK_CLOCK;
  wanted.sample_period = period;
  wanted.exclude_kernel = 1;  // all that a user may usually count
  wanted.exclude_hv = 1;
  wanted.wakeup_events = 1;
  wanted.disabled = 1;
  const int low =
      static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
  if (low < 0) return errno;
  const int high = fcntl(low, F_DUPFD_CLOEXEC, kHighDescriptor);
  if (high >= 0) close(low);
  file_ = high >= 0 ? high : low;
  f_owner_ex owner{F_OWNER_TID, static_cast<pid_t>(syscall(SYS_gettid))};
  if (fcntl(file_, F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && fcntl(file_, F_SETSIG, number) == 0 &&
      fcntl(file_, F_SETOWN_EX, &owner) == 0 && ioctl(file_, PERF_EVENT_IOC_ENABLE, 0) == 0) {
    return 0;
  }
  const int problem = errno;
  close(file_);
  file_ = 0;
  return problem;
}

void ThreadClock::stop() noexcept {
  if (has_timer_) timer_delete(timer_);
  if (file_ > 0) {
    ioctl(file_, PERF_EVENT_IOC_DISABLE, 0);
    close(file_);
  }
  has_timer_ = false;
  file_ = 0;
}

void ThreadClock::forget() noexcept {
  if (file_ > 0) close(file_);  // the counter goes on: it is open in the parent
  has_timer_ = false;
  file_ = 0;
}

}  // namespace assay::trace
