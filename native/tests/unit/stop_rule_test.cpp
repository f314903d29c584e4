#include "harness/stop_rule.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include "tests/unit/check.hpp"

using namespace assay;

namespace {

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// Gaussian series with x[i] = phi x[i-1] + noise, of unit variance around 10.
std::vector<double> autoregressive(double phi, int n, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> values;
  double state = normal(random);
  for (int i = 0; i < n; ++i) {
    values.push_back(10.0 + state);
    state = phi * state + std::sqrt(1.0 - phi * phi) * normal(random);
  }
  return values;
}

// Literal MSER over ranks: the definition, quadratic in n.
std::size_t slow_warmup(const std::vector<double>& values) {
  const std::size_t n = values.size();
  std::vector<double> rank(n);
  for (std::size_t i = 0; i < n; ++i) {
    double less = 0.0, equal = 0.0;
    for (const double other : values) {
      less += other < values[i];
      equal += other == values[i];
    }
    rank[i] = less + 0.5 * (equal + 1.0);
  }
  std::size_t best = 0;
  double least = 1e300;
  for (std::size_t d = 0; d <= n / 2 && d < n; ++d) {
    double mean = 0.0, squares = 0.0;
    const double kept = static_cast<double>(n - d);
    for (std::size_t i = d; i < n; ++i) mean += rank[i] / kept;
    for (std::size_t i = d; i < n; ++i) squares += (rank[i] - mean) * (rank[i] - mean);
    if (squares / (kept * kept) < least * (1.0 - 1e-12)) {
      least = squares / (kept * kept);
      best = d;
    }
  }
  return best;
}

// Literal: autocorrelations of the indicator, added in pairs up to the first that isn't positive.
double slow_autocorrelation_time(const std::vector<double>& values) {
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = values.size();
  const double middle = n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
  double mean = 0.0;
  for (const double x : values) mean += (x <= middle) / static_cast<double>(n);
  const auto rho = [&](std::size_t lag) {
    double top = 0.0, bottom = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      bottom += ((values[i] <= middle) - mean) * ((values[i] <= middle) - mean);
      if (i + lag < n) top += ((values[i] <= middle) - mean) * ((values[i + lag] <= middle) - mean);
    }
    return top / bottom;
  };
  double sum = -1.0;
  for (std::size_t m = 0; 2 * m + 1 < n; ++m) {
    const double pair = rho(2 * m) + rho(2 * m + 1);
    if (pair <= 0.0) break;
    sum += 2.0 * pair;
  }
  return std::max(sum, 1.0);
}

double choose(int n, int k) {
  return std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
}

// Feeds the rule with samples of a series that each take `cost` seconds.
struct Outcome {
  Stop stop;
  std::size_t samples;
  double elapsed;
  int looks;
};
Outcome simulate(const Limits& limits, double cost,
                 const std::function<double(std::size_t)>& series) {
  StopRule rule(limits);
  std::vector<double> values;
  double elapsed = 0.0;
  for (int looks = 1;; ++looks) {
    const Decision decision = rule.next(values, elapsed, cost, false);
    if (decision.stop != Stop::kNone) return {decision.stop, values.size(), elapsed, looks};
    for (std::int64_t i = 0; i < decision.more; ++i) values.push_back(series(values.size()));
    elapsed += cost * static_cast<double>(decision.more);
  }
}

double noisy(std::size_t i) { return 1.0 + static_cast<double>(i * 2654435761u % 1000) / 1000.0; }

}  // namespace

TEST(normal_quantile_has_the_tables_values) {
  CHECK_NEAR(normal_quantile(0.5), 0.0, 1e-14);
  CHECK_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-13);
  CHECK_NEAR(normal_quantile(0.995), 2.5758293035489004, 1e-13);
  CHECK_NEAR(normal_quantile(0.001), -3.090232306167813, 1e-13);
}

TEST(median_of_odd_and_even_counts) {
  CHECK_EQUAL(median({3.0}), 3.0);
  CHECK_EQUAL(median({5.0, 1.0, 3.0}), 3.0);
  CHECK_EQUAL(median({4.0, 1.0, 3.0, 2.0}), 2.5);
}

TEST(interval_has_the_orders_of_the_binomial_tables) {
  // Conover, Practical Nonparametric Statistics, and the sign test's tables: 95%, n and lower
  // order.
  const int known[][2] = {{6, 1}, {8, 1}, {9, 2}, {10, 2}, {20, 6}, {50, 18}, {100, 40}};
  for (const auto& [n, order] : known) {
    const auto interval = median_interval(one_to(n), 0.95, 1.0);
    CHECK(interval.has_value());
    CHECK_EQUAL(interval->low, order);
    CHECK_EQUAL(interval->high, n + 1 - order);
  }
  CHECK(!median_interval(one_to(5), 0.95, 1.0).has_value());
  CHECK(median_interval(one_to(5), 0.9, 1.0).has_value());
  CHECK(!median_interval({}, 0.95, 1.0).has_value());
}

TEST(interval_is_the_tightest_that_keeps_its_confidence) {
  for (const double confidence : {0.8, 0.95, 0.99}) {
    for (int n = 1; n <= 200; ++n) {
      // P(miss) of the interval from order j to n + 1 - j is twice P(Binomial < j).
      const auto miss = [&](int j) {
        double sum = 0.0;
        for (int k = 0; k < j; ++k) sum += choose(n, k) * std::pow(0.5, n);
        return 2.0 * sum;
      };
      const auto interval = median_interval(one_to(n), confidence, 1.0);
      const int order = interval ? static_cast<int>(interval->low) : 0;
      CHECK(miss(order) <= 1.0 - confidence + 1e-12);
      CHECK(2 * (order + 1) > n + 1 || miss(order + 1) > 1.0 - confidence - 1e-12);
    }
  }
}

TEST(interval_of_many_samples_follows_le_boudec) {
  const auto interval = median_interval(one_to(400), 0.95, 1.0);
  CHECK_EQUAL(interval->low, 180.0);  // floor(200 - 0.98 * 20)
  CHECK_EQUAL(interval->high, 221.0);
}

TEST(interval_widens_with_autocorrelation) {
  // 40 samples are worth 10: the second of ten is the quantile 2/11, the 7th of 40 is 7/41.
  const auto interval = median_interval(one_to(40), 0.95, 4.0);
  CHECK_EQUAL(interval->low, 7.0);
  CHECK_EQUAL(interval->high, 34.0);
  CHECK(!median_interval(one_to(40), 0.95, 8.0).has_value());  // worth 5
}

TEST(autocorrelation_time_equals_its_literal_definition) {
  std::mt19937_64 random(1);
  for (const double phi : {0.0, 0.5, 0.9, -0.5}) {
    for (const int n : {2, 3, 7, 50, 301}) {
      const auto series = autoregressive(phi, n, random);
      CHECK_NEAR(autocorrelation_time(series), slow_autocorrelation_time(series), 1e-9);
    }
  }
}

TEST(autocorrelation_time_of_a_gaussian_process_is_known) {
  // For Gaussian series the indicator's autocorrelation is 2/pi asin(rho) (the arcsine law).
  std::mt19937_64 random(2);
  for (const double phi : {0.0, 0.5, 0.8}) {
    double known = 1.0;
    for (int lag = 1; lag < 200; ++lag) known += 4.0 / M_PI * std::asin(std::pow(phi, lag));
    CHECK_NEAR(autocorrelation_time(autoregressive(phi, 100'000, random)), known, 0.1 * known);
  }
}

TEST(autocorrelation_time_is_never_below_one) {
  std::vector<double> alternating(100), constant(100, 3.0);
  for (std::size_t i = 0; i < 100; ++i) alternating[i] = i % 2 ? 1.0 : 2.0;
  CHECK_EQUAL(autocorrelation_time(alternating), 1.0);
  CHECK_EQUAL(autocorrelation_time(constant), 1.0);
  CHECK_EQUAL(autocorrelation_time(std::vector<double>{1.0}), 1.0);
}

TEST(warmup_equals_its_literal_definition) {
  std::mt19937_64 random(3);
  for (const int n : {0, 1, 2, 3, 8, 33, 100}) {
    for (int slow = 0; slow <= n; slow += 1 + n / 7) {
      auto series = autoregressive(0.3, n, random);
      for (int i = 0; i < slow; ++i) series[static_cast<std::size_t>(i)] += 5.0;
      CHECK_EQUAL(warmup_length(series), slow_warmup(series));
    }
  }
}

TEST(warmup_is_found_and_is_at_most_half) {
  const auto with_slow_start = [](std::size_t slow) {
    std::vector<double> values(100);
    for (std::size_t i = 0; i < 100; ++i) {
      values[i] = i < slow ? 2.0 : 1.0 + 0.001 * static_cast<double>(i * 7919 % 13);
    }
    return values;
  };
  CHECK_EQUAL(warmup_length(with_slow_start(10)), 10u);
  CHECK(warmup_length(with_slow_start(70)) <= 50u);
  CHECK_EQUAL(warmup_length(std::vector<double>(50, 1.0)), 0u);
  auto spike = with_slow_start(0);
  spike[40] = 1000.0;  // one interruption is not a warm-up
  CHECK(warmup_length(spike) < 30u);
}

TEST(interval_covers_the_median_as_often_as_it_says) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> exponential;
  const auto coverage = [&](auto make, double truth) {
    constexpr int kSeries = 4000;
    int covered = 0;
    for (int i = 0; i < kSeries; ++i) {
      const std::vector<double> series = make();
      const auto interval = median_interval(series, 0.95, autocorrelation_time(series));
      covered += interval && interval->low <= truth && truth <= interval->high;
    }
    return static_cast<double>(covered) / kSeries;
  };
  const double skewed = coverage(
      [&] {
        std::vector<double> values(200);
        for (double& x : values) x = exponential(random);
        return values;
      },
      std::log(2.0));
  CHECK(skewed >= 0.93 && skewed <= 0.985);
  const double correlated = coverage([&] { return autoregressive(0.7, 400, random); }, 10.0);
  CHECK(correlated >= 0.92 && correlated <= 0.985);
}

TEST(summary_drops_the_warmup) {
  std::vector<double> values = {9, 9, 9};
  for (int i = 0; i < 40; ++i) values.push_back(i % 2 ? 1.0 : 1.02);
  const Summary summary = summarise(values, 0.95);
  CHECK_EQUAL(summary.warmup, 3u);
  CHECK_NEAR(summary.median, 1.01, 1e-12);
  CHECK_NEAR(*summary.half_width, 0.01 / 1.01, 1e-12);
  CHECK(!summarise(std::vector<double>{1.0, 2.0}, 0.95).half_width.has_value());
}

TEST(rule_stops_at_precision_with_the_first_interval) {
  const Outcome outcome =
      simulate({0.01, 0.95, 10.0, 5, 1000}, 1e-5, [](std::size_t) { return 1.0; });
  CHECK(outcome.stop == Stop::kPrecision);
  CHECK_EQUAL(outcome.samples,
              8u);  // five carry no 95% interval; the next check is at 1.5 times five
}

TEST(rule_stops_at_the_most_samples) {
  const Outcome outcome = simulate({0.001, 0.95, 10.0, 5, 100}, 1e-5, noisy);
  CHECK(outcome.stop == Stop::kSamples);
  CHECK_EQUAL(outcome.samples, 100u);
  CHECK(outcome.looks <= 11);  // geometrically spaced
}

TEST(rule_never_overruns_the_budget_once_it_has_enough) {
  const Outcome outcome = simulate({0.001, 0.95, 1.0, 5, 100000}, 0.03, noisy);
  CHECK(outcome.stop == Stop::kBudget);
  CHECK(outcome.elapsed <= 1.0);
  CHECK(outcome.elapsed > 0.95);
}

TEST(rule_takes_one_sample_of_what_is_slower_than_the_budget) {
  const Outcome outcome = simulate({0.01, 0.95, 1.0, 5, 1000}, 10.0, noisy);
  CHECK(outcome.stop == Stop::kBudget);
  CHECK_EQUAL(outcome.samples, 1u);
  const Outcome spent = simulate({0.01, 0.95, 0.0, 5, 1000}, 1e-3, noisy);
  CHECK_EQUAL(spent.samples, 1u);
}

TEST(rule_uses_what_budget_is_left_below_the_fewest_samples) {
  const Outcome outcome = simulate({0.01, 0.95, 1.0, 5, 1000}, 0.4, noisy);
  CHECK(outcome.stop == Stop::kBudget);
  CHECK_EQUAL(outcome.samples, 3u);
}

TEST(rule_keeps_blocks_short) {
  StopRule rule({0.001, 0.95, 100.0, 100, 1000});
  const Decision decision = rule.next(std::vector<double>{1.0}, 0.1, 0.1, false);
  CHECK_EQUAL(decision.more, 2);  // a quarter of a second
}

TEST(rule_obeys_a_signal) {
  StopRule rule({0.001, 0.95, 100.0, 100, 1000});
  CHECK(rule.next(std::vector<double>{1.0}, 0.1, 0.1, true).stop == Stop::kSignal);
}
