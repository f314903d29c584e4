#include "harness/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>

#include "harness/json_writer.hpp"

namespace assay {
namespace {

// Text composed in advance or piece by piece, because a handler may neither allocate nor format.
template <std::size_t N>
class Fixed {
 public:
  void clear() { size_ = 0; }
  std::string_view view() const { return {bytes_.data(), size_}; }

  Fixed& add(std::string_view text) {
    const std::size_t fits = std::min(text.size(), N - size_);
    std::memcpy(bytes_.data() + size_, text.data(), fits);
    size_ += fits;
    return *this;
  }

  // Seconds to the nanosecond.
  Fixed& add_seconds(Ticks span) {
    char digits[32];
    int length = 0;
    for (Ticks rest = std::max<Ticks>(span, 0); rest > 0 || length < 11; rest /= 10) {
      if (length == 9) digits[length++] = '.';
      digits[length++] = static_cast<char>('0' + rest % 10);
    }
    std::reverse(digits, digits + length);
    return add({digits, static_cast<std::size_t>(length)});
  }

  void write_to(int descriptor) const {
    const ssize_t written = ::write(descriptor, bytes_.data(), size_);
    (void)written;  // an error can't be reported
  }

 private:
  std::array<char, N> bytes_;
  std::size_t size_ = 0;
};

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free);

Fixed<512> who;              // "rank 1 on host n01"
Fixed<8192> under_way;       // " in measurement 'm1' of network.barrier"
Fixed<8192> record_start;    // the failed record up to its error message
Fixed<1024> reason;          // details beyond the signal's name
Fixed<2048> reason_as_json;  // the same, inside a JSON string
Fixed<16384> line;
Ticks measurement_start = 0;
std::atomic<bool> in_measurement{false};
int stream_descriptor = -1;
std::atomic<bool> dying{false};
std::array<char, 64 * 1024> alternate_stack;

std::string_view signal_text(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "ended by SIGSEGV (invalid memory access)";
    case SIGBUS:
      return "ended by SIGBUS (access to memory that does not exist)";
    case SIGFPE:
      return "ended by SIGFPE (arithmetic error)";
    case SIGILL:
      return "ended by SIGILL (instruction this CPU doesn't have)";
    case SIGABRT:
      return "ended by SIGABRT (abort)";
    default:
      return "gave up waiting for the other ranks";
  }
}

// One line to stderr and, on the rank that writes the stream, the record.
void report_end(int signal) {
  if (dying.exchange(true)) return;
  line.clear();
  line.add("assay-kernels: ").add(who.view()).add(" ").add(signal_text(signal));
  if (in_measurement) line.add(under_way.view());
  if (!reason.view().empty()) line.add(": ").add(reason.view());
  line.add("\n").write_to(STDERR_FILENO);
  if (stream_descriptor < 0 || !in_measurement) return;
  line.clear();
  line.add(record_start.view()).add(who.view()).add(" ").add(signal_text(signal));
  if (!reason.view().empty()) line.add(": ").add(reason_as_json.view());
  line.add("\",\"wall\":").add_seconds(ticks() - measurement_start).add("}\n");
  line.write_to(stream_descriptor);
}

void on_stop(int) { stop = true; }

void on_death(int signal) {
  report_end(signal);
  // SA_RESETHAND has restored the default action; SA_NODEFER delivers the signal immediately.
  raise(signal);
}

void on_alarm(int signal) {
  report_end(signal);
  _exit(4);
}

volatile std::sig_atomic_t last_status = 0;

void on_overtime(int) { _exit(last_status); }

// The text as the content of a JSON string.
std::string inside_json(const std::string& text) {
  const std::string quoted = JsonWriter().value(std::string_view(text)).text();
  return quoted.substr(1, quoted.size() - 2);
}

void set_reason(const std::string& text) {
  const std::string shortened = text.substr(0, 300);  // at most six JSON characters per byte
  reason.clear();
  reason.add(shortened);
  reason_as_json.clear();
  reason_as_json.add(inside_json(shortened));
}

void on_terminate() {
  if (const std::exception_ptr escaped = std::current_exception()) {
    try {
      std::rethrow_exception(escaped);
    } catch (const std::exception& error) {
      set_reason(std::string("uncaught exception: ") + error.what());
    } catch (...) {
      set_reason("uncaught exception");
    }
  }
  std::abort();
}

void install(int signal, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

}  // namespace

void install_signal_handlers(int rank, const std::string& host, int stream) {
  who.clear();
  who.add("rank " + std::to_string(rank) + " on host " + inside_json(host.substr(0, 64)));
  stream_descriptor = stream;
  // A separate stack, so that a stack overflow can still be reported.
  stack_t stack{};
  stack.ss_sp = alternate_stack.data();
  stack.ss_size = alternate_stack.size();
  sigaltstack(&stack, nullptr);
  install(SIGTERM, on_stop, SA_RESTART);
  install(SIGINT, on_stop, SA_RESTART);
  install(SIGUSR1, on_stop, SA_RESTART);  // forwarded by mpirun to other hosts
  install(SIGPIPE, SIG_IGN, 0);
  install(SIGALRM, on_alarm, 0);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    install(signal, on_death, SA_ONSTACK | SA_NODEFER | static_cast<int>(SA_RESETHAND));
  }
  std::set_terminate(on_terminate);
}

bool stop_requested() { return stop; }

void note_measurement(const std::string& measurement, const std::string& kernel,
                      Ticks launch_start) {
  in_measurement = false;
  reason.clear();
  measurement_start = ticks();
  under_way.clear();
  under_way.add(" in measurement '" + measurement.substr(0, 1024) + "' of " +
                kernel.substr(0, 256));
  record_start.clear();
  JsonWriter record;
  record.begin_object().field("record", "measurement").field("measurement", measurement);
  record.field("kernel", kernel).field("status", "failed");
  record.field("start", seconds(measurement_start - launch_start));
  record.key("parameters").begin_object().end_object();
  record_start.add(record.text()).add(",\"error\":\"");
  in_measurement = record.text().size() < 8000;  // a longer name is reported on stderr only
}

void note_no_measurement() { in_measurement = false; }

void Watchdog::arm(const std::string& what) {
  set_reason(what);
  alarm(kSeconds);
}

void Watchdog::disarm() {
  alarm(0);
  reason.clear();
}

void LastCall::arm(int status) {
  if (std::getenv("ASSAY_PROFILE_DIR")) return;
  last_status = status;
  install(SIGALRM, on_overtime, 0);
  alarm(kSeconds);
}

void LastCall::disarm() { alarm(0); }

}  // namespace assay
