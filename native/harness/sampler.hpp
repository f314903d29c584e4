// Takes the samples of one measurement: batch size, blocks of samples, collective decisions between
// blocks.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/agreement.hpp"
#include "harness/clock.hpp"
#include "harness/global_clock.hpp"
#include "harness/kernel.hpp"
#include "harness/stop_rule.hpp"

namespace assay {

struct Samples {
  std::int64_t batch = 1;       // counts of Kernel::run() per sample
  std::vector<double> own;      // this rank's seconds per operation
  std::vector<double> values;   // rank 0: the maximum over the ranks that count
  std::vector<double> fastest;  // rank 0, if the kernel keeps them: the minimum over those ranks
  std::vector<Ticks> starts;    // rank 0: start of each sample
  Stop stop = Stop::kNone;
  Summary summary;  // on rank 0; warmup on all ranks
  Complaint failure;
  bool signalled = false;              // whether a rank was asked to end
  std::map<std::string, Value> facts;  // how the samples were started, if not by a plain barrier
};

// The minimum duration of a sample, in seconds. The error that the clock adds to a sample (one
// call, one step) must stay below a tenth of the requested precision, and below a thousandth in any
// case; 10 µs keep the skew of the ranks at the exit of the barrier before each sample small
// compared with the sample.
double least_sample(const ClockQuality& clock, double precision);

// Called on rank 0 after each block of samples with the values so far.
using ProgressReport = std::function<void(const std::vector<double>& values)>;

// Collective over `comm`, which is not the kernel's own. `begin`: when the measurement began; the
// budget counts from it. `global`: already synchronised, if the kernel uses it.
Samples take_samples(MPI_Comm comm, Kernel& kernel, const Limits& limits, const ClockQuality& clock,
                     const GlobalClock& global, Ticks begin, const ProgressReport& report);

}  // namespace assay
