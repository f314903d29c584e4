// Signals: SIGTERM and SIGINT end the job after the current samples; a fatal signal leaves an error
// record.
#pragma once

#include <cstdint>
#include <string>

#include "harness/clock.hpp"

namespace assay {

// SIGTERM and SIGINT set a flag. SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT (std::terminate among
// them) write one line to stderr and, if `stream` is 0 or more, a failed measurement record to it;
// then the signal's default action follows. SIGPIPE is ignored: writing fails instead.
void install_signal_handlers(int rank, const std::string& host, int stream);

bool stop_requested();

// The measurement that the error record names. `launch_start`: the origin of times.
void note_measurement(const std::string& measurement, const std::string& kernel,
                      Ticks launch_start);
void note_no_measurement();

// For a rank that left the kernel by an exception while others may wait for it inside: unless
// disarmed in time because all ranks come to agree, it ends the launch with the message.
class Watchdog {
 public:
  static constexpr unsigned kSeconds = 60;
  static void arm(const std::string& what);
  static void disarm();
};

// Around MPI_Finalize, when all records are written: unless disarmed in time, it ends the process
// with `status`. MPICH 4.0 with UCX 1.13 may wait there for a rank that waits for it in another
// way. A profile that is being written (ASSAY_PROFILE_DIR) gets all the time that it needs.
class LastCall {
 public:
  static constexpr unsigned kSeconds = 10;
  static void arm(int status);
  static void disarm();
};

}  // namespace assay
