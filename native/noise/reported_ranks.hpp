// Selection of the ranks that are reported, and traces: this bounds the records of the noise
// kernels.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

// The bounds of a record. A value takes about 12 bytes, so the bounds amount to less than 800 kB.
constexpr std::int64_t kMostCount = 16384;   // values of one trace
constexpr std::int64_t kMostValues = 20000;  // of all traces, unless one trace per rank takes more
constexpr int kMostTraces = 4;               // ranks whose traces are kept
constexpr int kMostRanks = 1024;             // ranks reported individually

// The ranks that are reported. Collective; `level`: noise level of this rank.
struct ReportedRanks {
  std::vector<int> traced;  // rank 0, the two noisiest and the quietest; all, if there are no more
  bool summarised = false;  // whether this rank is among the noisiest kMostRanks
  bool traces(int rank) const;
};
ReportedRanks choose_reported(MPI_Comm comm, double level);

// "0, 3, 7"
std::string listed(const std::vector<int>& ranks);

// A whole number or a time within limits, or a KernelError.
std::int64_t checked_count(Parameters& parameters, std::int64_t fallback);
double checked_span(Parameters& parameters, const std::string& name, double fallback);

// Maximum seconds of a trace: a run can be stopped between two traces.
constexpr double kLongestTrace = 60.0;
void check_trace(double span, std::int64_t count);

// The values of every sample on this rank: the first traces in full, of all traces the statistics.
class Traces {
 public:
  Traces(const Context& context, std::int64_t count) : context_(context), count_(count) {}

  void allocate();

  // Space for the values of the next sample.
  double* next();

  // Evaluates the last sample; to be called once for each, outside of the timed part.
  void note();

  std::size_t samples() const { return means_.size(); }
  const std::vector<double>& means() const { return means_; }
  double least() const { return least_; }
  double greatest() const { return greatest_; }

  // Adds this rank's traces as one series, one after the other, if the rank is traced.
  void add_series(std::vector<Series>& all, const ReportedRanks& reported,
                  const std::string& metric, const std::string& unit) const;
  // Traces that each traced rank reports.
  std::int64_t segments(const ReportedRanks& reported) const;

 private:
  Context context_;
  std::int64_t count_;
  std::vector<double> kept_;  // whole traces
  std::vector<double> spare_;
  double* current_ = nullptr;
  std::vector<double> means_;
  double least_ = 0.0;
  double greatest_ = 0.0;
};

// Adds noise and greatest detour of each sample over all ranks, and this rank's own: the series
// that the two traces have in common. Collective. `noise` and `detours`: of this rank, one value
// per sample.
void add_noise_series(const Context& context, const ReportedRanks& reported,
                      const std::vector<double>& noise, const std::vector<double>& detours,
                      std::vector<Series>& all);

}  // namespace assay
