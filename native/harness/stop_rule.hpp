// When a measurement has enough samples, and the statistics that decide it. No clock, no MPI: rank
// 0 asks it at checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace assay {

// As the job states them: relative half-width, probability, seconds, counts.
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

// Leading samples judged not yet steady, at most half of them: the minimum of the marginal standard
// error over the truncation point (MSER; White, An effective truncation heuristic for bias
// reduction in simulation output, Simulation 69(6), 1997). Taken over ranks instead of values, so
// that one interrupted sample in the middle does not pass for the end of a warm-up.
std::size_t warmup_length(std::span<const double> values);

// How many successive samples carry as much as one independent one, at least 1: the integrated
// autocorrelation time of the series 1{x <= median}, which is what the variance of a sample median
// depends on. Its sum is cut by Geyer's initial positive sequence (Practical Markov chain Monte
// Carlo, Statistical Science 7(4), 1992, section 3.3).
double autocorrelation_time(std::span<const double> values);

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

// Nonparametric interval of the median out of order statistics (Hoefler & Belli, SC15,
// section 3.1.3; Le Boudec, Performance Evaluation, 2010, section 2.2.2) of as many samples as are
// worth values.size() / time of independence; nothing if so few carry no interval of that
// confidence.
std::optional<Interval> median_interval(std::span<const double> values, double confidence,
                                        double autocorrelation);

// What a series of samples comes to, warm-up dropped. Relative half-width where there is an
// interval.
struct Summary {
  std::size_t warmup = 0;
  double median = 0.0;
  std::optional<double> half_width;
};
Summary summarise(std::span<const double> values, double confidence);

// Either stop, or take so many samples more.
struct Decision {
  Stop stop = Stop::kNone;
  std::int64_t more = 0;
};

class StopRule {
 public:
  explicit StopRule(const Limits& limits);

  // `elapsed`: seconds since the measurement began; `per_sample`: seconds that one more will take.
  //
  // The precision is looked at only at geometrically spaced counts of samples (times 1.5), because
  // every look is a chance to stop by luck. No block lasts longer than a quarter of a second, so
  // that signals and progress are seen. With min_samples at hand no sample is begun that would
  // overrun the budget; below, one is begun while any budget is left; the first is always taken.
  Decision next(std::span<const double> values, double elapsed, double per_sample, bool signal);

 private:
  Limits limits_;
  std::int64_t next_look_;
};

}  // namespace assay
