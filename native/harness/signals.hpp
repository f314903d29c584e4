// Signals: a polite one ends the job after the samples under way; a deadly one leaves a last word.
#pragma once

#include <cstdint>
#include <string>

#include "harness/clock.hpp"

namespace assay {

// SIGTERM and SIGINT raise a flag. SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT (std::terminate among
// them) write one line to stderr and, where `stream` is 0 or more, a failed measurement record to
// it; then the signal does what it does by default. SIGPIPE is ignored: writing fails instead.
void install_signal_handlers(int rank, const std::string& host, int stream);

bool stop_requested();

// What the last word says is under way. `launch_start`: what times are counted from.
void note_measurement(const std::string& measurement, const std::string& kernel,
                      Ticks launch_start);
void note_no_measurement();

// This rank has left the kernel by an exception, and the others may wait for it inside it: unless
// disarmed in time by their coming to agree, end the launch with the sentence.
class Watchdog {
 public:
  static constexpr unsigned kSeconds = 60;
  static void arm(const std::string& what);
  static void disarm();
};

}  // namespace assay
