// Which ranks are told of, and how much: what keeps the records of the noise kernels bounded.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

// The bounds of a record. A value takes some 12 bytes: these come to under 800 kB.
constexpr std::int64_t kMostCount = 16384;   // values of one trace
constexpr std::int64_t kMostValues = 20000;  // of all traces, unless one trace a rank takes more
constexpr int kMostTraces = 4;               // ranks whose traces are kept
constexpr int kMostRanks = 1024;             // ranks whose own numbers are kept

// Of all ranks, those that are told of. Collective; `level` is how noisy this rank was.
struct Told {
  std::vector<int> traced;  // rank 0, the two noisiest and the quietest; all, if there are no more
  bool summarised = false;  // whether this rank is among the noisiest kMostRanks
  bool traces(int rank) const;
};
Told choose_told(MPI_Comm comm, double level);

// "0, 3, 7"
std::string listed(const std::vector<int>& ranks);

// A whole number or a time within limits, or a KernelError.
std::int64_t checked_count(Parameters& parameters, std::int64_t fallback);
double checked_span(Parameters& parameters, const std::string& name, double fallback);

// A trace may last so many seconds: between two of them a run can be stopped.
constexpr double kLongestTrace = 60.0;
void check_trace(double span, std::int64_t count);

// The values of every sample on this rank: the first traces whole, of all of them the statistics.
class Traces {
 public:
  Traces(const Context& context, std::int64_t count) : context_(context), count_(count) {}

  void allocate();

  // Room for the values of the sample that is about to be taken.
  double* next();

  // Takes note of the sample taken last; to be called once for each, outside of what is timed.
  void note();

  std::size_t samples() const { return means_.size(); }
  const std::vector<double>& means() const { return means_; }
  double least() const { return least_; }
  double greatest() const { return greatest_; }

  // This rank's traces as one series, one after the other, if it is traced.
  void tell(std::vector<Series>& all, const Told& told, const std::string& metric,
            const std::string& unit) const;
  // Traces that each traced rank tells.
  std::int64_t segments(const Told& told) const;

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

// Noise and greatest detour of each sample over all ranks, and this rank's own: the series that the
// two traces have in common. Collective. `noise` and `detours`: of this rank, one a sample.
void tell_noise(const Context& context, const Told& told, const std::vector<double>& noise,
                const std::vector<double>& detours, std::vector<Series>& all);

}  // namespace assay
