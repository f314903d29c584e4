#include "harness/stop_rule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace assay {
namespace {

constexpr double kGrowth = 1.5;
constexpr double kLongestBlock = 0.25;  // seconds

// Above this number, the error of the binomial's normal approximation is less than one order
// statistic.
constexpr std::int64_t kExactBinomial = 200;

// A correlation that lasts longer than this many samples is truncated here: the interval is then so
// wide (the effective sample size some thousandfold smaller) that it is useless anyway.
constexpr std::size_t kLongestLag = 4096;

// Ranks from 1, ties sharing their mean rank.
std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> result(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    const double shared = 0.5 * static_cast<double>(first + last) + 1.0;
    for (std::size_t i = first; i <= last; ++i) result[order[i]] = shared;
    first = last + 1;
  }
  return result;
}

// The greatest j with P(Binomial(n, 1/2) < j) <= tail: the interval from the j-th smallest to the
// j-th greatest of n independent samples misses the median with probability <= 2 * tail.
std::int64_t lower_order(std::int64_t n, double tail) {
  if (n > kExactBinomial) {
    const double root = std::sqrt(static_cast<double>(n));
    const double z = -normal_quantile(tail);
    return static_cast<std::int64_t>(std::floor(0.5 * (static_cast<double>(n) - z * root)));
  }
  double probability = std::exp2(-static_cast<double>(n));
  double below = 0.0;
  std::int64_t j = 0;
  while (j < n && below + probability <= tail) {
    below += probability;
    ++j;
    probability *= static_cast<double>(n - j + 1) / static_cast<double>(j);
  }
  return j;
}

}  // namespace

const char* stop_name(Stop stop) {
  switch (stop) {
    case Stop::kPrecision:
      return "precision";
    case Stop::kBudget:
      return "budget";
    case Stop::kSamples:
      return "samples";
    case Stop::kSignal:
      return "signal";
    case Stop::kNone:
      break;
  }
  return "";
}

double normal_quantile(double probability) {
  // Bisection on the distribution function: exact to the last bits, and rare enough to be cheap.
  double low = -40.0;
  double high = 40.0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double median(std::vector<double> values) {
  const std::size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*std::max_element(values.begin(), middle) + *middle);
}

std::size_t warmup_length(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 2) return 0;
  const std::vector<double> rank = ranks(values);
  // From the end: mean and sum of squares of the samples kept (Welford).
  double mean = 0.0;
  double squares = 0.0;
  double best = 0.0;
  std::size_t best_length = 0;
  bool found = false;
  for (std::size_t kept = 1; kept <= n; ++kept) {
    const double x = rank[n - kept];
    const double difference = x - mean;
    mean += difference / static_cast<double>(kept);
    squares += difference * (x - mean);
    const std::size_t dropped = n - kept;
    if (dropped > n / 2) continue;
    const double error = squares / (static_cast<double>(kept) * static_cast<double>(kept));
    if (!found || error <= best) {  // of equal errors, the one that drops fewer samples
      best = error;
      best_length = dropped;
      found = true;
    }
  }
  return best_length;
}

double autocorrelation_time(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 2) return 1.0;
  const double middle = median({values.begin(), values.end()});
  std::vector<double> centred(n);
  double mean = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    centred[i] = values[i] <= middle ? 1.0 : 0.0;
    mean += centred[i];
  }
  mean /= static_cast<double>(n);
  for (double& x : centred) x -= mean;
  const auto covariance = [&](std::size_t lag) {
    double sum = 0.0;
    for (std::size_t i = lag; i < n; ++i) sum += centred[i] * centred[i - lag];
    return sum;
  };
  const double variance = covariance(0);
  if (variance <= 0.0) return 1.0;
  double pairs = 0.0;
  for (std::size_t lag = 0; lag + 1 < n && lag < kLongestLag; lag += 2) {
    const double pair = covariance(lag) + covariance(lag + 1);
    if (pair <= 0.0) break;
    pairs += pair;
  }
  return std::clamp(2.0 * pairs / variance - 1.0, 1.0, static_cast<double>(n));
}

std::optional<Interval> median_interval(std::span<const double> values, double confidence,
                                        double autocorrelation) {
  const auto n = static_cast<std::int64_t>(values.size());
  const auto worth =
      static_cast<std::int64_t>(std::floor(static_cast<double>(n) / autocorrelation + 1e-9));
  if (worth < 1) return std::nullopt;
  const std::int64_t order = lower_order(worth, 0.5 * (1.0 - confidence));
  if (order < 1) return std::nullopt;
  // The order-th of `worth` samples is the quantile order / (worth + 1); takes the same quantile of
  // n samples.
  const std::int64_t low = order * (n + 1) / (worth + 1);
  if (low < 1) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return Interval{sorted[static_cast<std::size_t>(low - 1)],
                  sorted[static_cast<std::size_t>(n - low)]};
}

Summary summarise(std::span<const double> values, double confidence) {
  Summary summary;
  if (values.empty()) return summary;
  summary.warmup = warmup_length(values);
  const std::span<const double> steady = values.subspan(summary.warmup);
  summary.median = median({steady.begin(), steady.end()});
  const auto interval = median_interval(steady, confidence, autocorrelation_time(steady));
  if (interval && summary.median > 0.0) {
    summary.half_width = 0.5 * (interval->high - interval->low) / summary.median;
  }
  return summary;
}

StopRule::StopRule(const Limits& limits) : limits_(limits), next_look_(limits.min_samples) {}

Decision StopRule::next(std::span<const double> values, double elapsed, double per_sample,
                        bool signal) {
  if (signal) return {Stop::kSignal, 0};
  const auto n = static_cast<std::int64_t>(values.size());
  if (n == 0) return {Stop::kNone, 1};
  if (n >= next_look_ || n >= limits_.max_samples) {
    const auto half_width = summarise(values, limits_.confidence).half_width;
    if (half_width && *half_width <= limits_.precision) return {Stop::kPrecision, 0};
    next_look_ =
        std::max(n + 1, static_cast<std::int64_t>(std::ceil(kGrowth * static_cast<double>(n))));
  }
  if (n >= limits_.max_samples) return {Stop::kSamples, 0};
  const double left = limits_.budget - elapsed;
  const double needed = n >= limits_.min_samples ? per_sample : 0.0;
  if (left <= needed) return {Stop::kBudget, 0};
  const double time = std::min(left, kLongestBlock);
  const double by_time = std::floor(time / std::max(per_sample, 1e-9));
  const std::int64_t wanted = std::min(next_look_, limits_.max_samples) - n;
  const auto fitting = static_cast<std::int64_t>(std::clamp(by_time, 1.0, 1e9));
  return {Stop::kNone, std::min(wanted, fitting)};
}

}  // namespace assay
