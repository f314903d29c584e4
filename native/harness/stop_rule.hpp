// The stop rule: when a measurement has enough samples, and the statistics that decide it. Without
// clock and MPI; rank 0 evaluates it at checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace assay {

// As given in the job: relative half-width, probability, seconds, counts.
struct Limits {
  double precision = 0.01;
  double confidence = 0.95;
  double budget = 1.0;
  std::int64_t min_samples = 5;
  std::int64_t max_samples = 1000;
};

enum class Stop : int { kNone, kPrecision, kBudget, kSamples, kSignal };
const char* stop_name(Stop stop);

// The quantile function of the standard normal distribution.
double normal_quantile(double probability);

double median(std::vector<double> values);

// The number of leading samples that are not yet steady, at most half of them: the minimum of the
// marginal standard error over the truncation point (MSER; White, An effective truncation heuristic
// for bias reduction in simulation output, Simulation 69(6), 1997). Computed on statistical ranks
// instead of values, so that one interrupted sample in the middle is not mistaken for the end of a
// warm-up.
std::size_t warmup_length(std::span<const double> values);

// The number of successive samples that carry as much information as one independent sample, at
// least 1: the integrated autocorrelation time of the series 1{x <= median}, which determines the
// variance of a sample median. Its sum is truncated by Geyer's initial positive sequence (Practical
// Markov chain Monte Carlo, Statistical Science 7(4), 1992, section 3.3).
double autocorrelation_time(std::span<const double> values);

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// Nonparametric confidence interval of the median from order statistics (Hoefler & Belli, SC15,
// section 3.1.3; Le Boudec, Performance Evaluation, 2010, section 2.2.2) for an effective sample
// size of values.size() / time of independence; nothing if that is too small for an interval of
// that confidence.
std::optional<Interval> median_interval(std::span<const double> values, double confidence,
                                        double autocorrelation);

// Summary of a series of samples, without warm-up. Relative half-width if there is an interval.
struct Summary {
  std::size_t warmup = 0;
  double median = 0.0;
  std::optional<double> half_width;
};
Summary summarise(std::span<const double> values, double confidence);

// Either stop, or take this many more samples.
struct Decision {
  Stop stop = Stop::kNone;
  std::int64_t more = 0;
};

class StopRule {
 public:
  explicit StopRule(const Limits& limits);

  // `elapsed`: seconds since the measurement began; `per_sample`: expected seconds of one more
  // sample.
  //
  // The precision is checked only at geometrically spaced counts of samples (factor 1.5), because
  // every check is a chance to stop by luck. No block lasts longer than a quarter of a second, so
  // that signals and progress are handled. Once min_samples are taken, no sample is begun that
  // would overrun the budget; before, one is begun while any budget is left; the first is always
  // taken.
  Decision next(std::span<const double> values, double elapsed, double per_sample, bool signal);

 private:
  Limits limits_;
  std::int64_t next_look_;
};

}  // namespace assay
