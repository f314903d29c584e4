#include "harness/clock_model.hpp"

#include <random>
#include <vector>

#include "tests/unit/check.hpp"

using namespace assay;

namespace {

constexpr Ticks kSecond = 1'000'000'000;
// For a machine that has been up for ten years: beyond what a double holds to the nanosecond.
constexpr Ticks kUptime = 315'360'000 * kSecond;

// The planted clock: ahead by `offset` at kUptime, and running fast.
struct Planted {
  Ticks offset;
  double drift;
  Ticks remote(Ticks local) const {
    return local + offset + std::llround(drift * static_cast<double>(local - kUptime));
  }
  // Read between 0 (at the request) and 1 (immediately before the answer).
  Exchange exchange(Ticks sent, Ticks trip, double where) const {
    return {sent, remote(sent + static_cast<Ticks>(where * static_cast<double>(trip))),
            sent + trip};
  }
};

std::vector<ClockPoint> points_of(const Planted& planted, int count, double where, Ticks trip) {
  std::vector<ClockPoint> points;
  for (int i = 0; i < count; ++i) {
    const Exchange one = planted.exchange(kUptime + i * kSecond / 100, trip, where);
    points.push_back(shortest({&one, 1}));
  }
  return points;
}

}  // namespace

TEST(the_shortest_exchange_counts) {
  const std::vector<Exchange> exchanges = {{0, 90, 100}, {200, 1015, 230}, {300, 1399, 400}};
  const ClockPoint point = shortest(exchanges);
  CHECK_EQUAL(point.local, 215);
  CHECK_EQUAL(point.ahead, 800);
  CHECK_EQUAL(point.round_trip, 30);
}

TEST(offset_and_drift_are_recovered_from_fair_exchanges) {
  for (const Planted planted : {Planted{0, 0.0}, Planted{-3600 * kSecond, 4e-5},
                                Planted{7 * kUptime, -3e-4}, Planted{17, 1e-2}}) {
    const ClockModel model = fit(points_of(planted, 20, 0.5, 2000));
    CHECK_NEAR(model.drift, planted.drift, 1e-8);
    for (const Ticks later : {Ticks{0}, kSecond / 5, 10 * kSecond}) {
      const Ticks local = kUptime + later;
      const Ticks remote = planted.remote(local);
      CHECK(std::abs(model.to_reference(local) - remote) <= 100);
      CHECK(std::abs(model.to_local(model.to_reference(local)) - local) <= 1);
    }
  }
}

TEST(unfair_exchanges_are_wrong_by_no_more_than_the_bound) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> anywhere(0.0, 1.0);
  std::exponential_distribution<double> queue(1e-4);
  const Planted planted{12'345'678'901, 5e-5};
  double tightest = 1e99;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<ClockPoint> points;
    for (int i = 0; i < 12; ++i) {
      const auto trip = static_cast<Ticks>(2000 + queue(random));
      // The worst cases (all early, all late, and each where it affects the drift most) are
      // frequent.
      const double where = trial % 4 == 0   ? 0.0
                           : trial % 4 == 1 ? 1.0
                           : trial % 4 == 2 ? (i < 6 ? 0.0 : 1.0)
                                            : anywhere(random);
      const Exchange one = planted.exchange(kUptime + i * kSecond / 100, trip, where);
      points.push_back(shortest({&one, 1}));
    }
    const ClockModel model = fit(points);
    for (const Ticks later : {Ticks{0}, kSecond / 10, 100 * kSecond}) {
      const Ticks local = kUptime + later;
      const auto error =
          std::abs(static_cast<double>(model.to_reference(local) - planted.remote(local)));
      CHECK(error <= 1.001 * model.error_at(local) + 2);
      tightest = std::min(tightest, model.error_at(local) / std::max(error, 1.0));
    }
    // Long round trips have little weight: the bound stays near half of the short ones.
    CHECK(model.error_at_anchor < 20'000);
  }
  CHECK(tightest < 1.1);  // the bound is reached, so it could not be tighter
}

TEST(one_point_gives_no_drift) {
  const ClockModel model = fit(points_of({500, 1e-4}, 1, 0.5, 1000));
  CHECK_EQUAL(model.drift, 0.0);
  CHECK_EQUAL(model.offset, 500);
  CHECK_NEAR(model.error_at(model.anchor + kSecond) - model.error_at(model.anchor), 500e3, 1.0);
}

TEST(models_compose_along_a_path) {
  const Planted inner{-40 * kSecond, 2e-4};
  const Planted outer{9000 * kSecond, -1e-4};
  const ClockModel whole =
      composed(fit(points_of(outer, 20, 0.5, 1000)), fit(points_of(inner, 20, 0.5, 3000)));
  for (const Ticks later : {Ticks{0}, 3 * kSecond}) {
    const Ticks local = kUptime + later;
    const Ticks truth = outer.remote(inner.remote(local));
    CHECK(std::abs(whole.to_reference(local) - truth) <= 100);
    CHECK(std::abs(static_cast<double>(whole.to_reference(local) - truth)) <=
          1.001 * whole.error_at(local));
  }
  const ClockModel self = composed(ClockModel{}, ClockModel{});
  CHECK_EQUAL(self.to_reference(kUptime), kUptime);
}
