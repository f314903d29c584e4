// One launch: its ranks, the stream, and the job's measurements in sequence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/covariates.hpp"
#include "harness/global_clock.hpp"
#include "harness/job.hpp"
#include "harness/layout.hpp"
#include "harness/stream.hpp"
#include "processor/check.hpp"

namespace assay {

// Exit statuses of the program, in addition to kExitProcessor.
constexpr int kExitDone = 0;
constexpr int kExitUsage = 2;        // wrong command line or job
constexpr int kExitStream = 3;       // the stream could not be written
constexpr int kExitMeasurement = 4;  // a measurement failed or was not verified

const char* program_version();

// State that the measurements of a launch share.
struct Launch {
  MPI_Comm harness = MPI_COMM_NULL;  // for the harness's own messages
  MPI_Comm kernels = MPI_COMM_NULL;  // for the kernels'
  int rank = 0;
  int size = 1;
  std::vector<int> nodes;  // of each rank
  Ticks start = 0;
  ClockQuality clock;
  std::unique_ptr<GlobalClock> global_clock;  // of the harness's ranks
  Layout layout;
  std::uint64_t seed = 0;
};

// Collective over the world: reads the job (on rank 0), measures, writes. Returns the exit status.
int run_job(const std::string& job_path, const std::string& stream_path, Ticks start);

}  // namespace assay
