#include "harness/clock_model.hpp"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

// Bound of an unknown drift: NTP steers clocks by at most 500 ppm (RFC 5905, appendix A, MAXFREQ).
constexpr double kMostDrift = 500e-6;

// Nanoseconds by which a point may be wrong: half a round trip plus rounding.
double error_of(const ClockPoint& point) { return 0.5 * static_cast<double>(point.round_trip) + 1; }

double weight_of(const ClockPoint& point) { return 1.0 / (error_of(point) * error_of(point)); }

}  // namespace

ClockPoint shortest(std::span<const Exchange> exchanges) {
  const auto trip = [](const Exchange& each) { return each.received - each.sent; };
  const Exchange& best =
      *std::min_element(exchanges.begin(), exchanges.end(),
                        [&](const auto& a, const auto& b) { return trip(a) < trip(b); });
  const Ticks middle = best.sent + trip(best) / 2;
  return {middle, best.remote - middle, trip(best)};
}

Ticks ClockModel::to_reference(Ticks local) const {
  return local + offset + std::llround(drift * static_cast<double>(local - anchor));
}

Ticks ClockModel::to_local(Ticks reference) const {
  // Since the anchor, the reference has advanced (1 + drift) times as much as the local clock.
  const Ticks advanced = reference - offset - anchor;
  return anchor + advanced - std::llround(drift / (1.0 + drift) * static_cast<double>(advanced));
}

double ClockModel::error_at(Ticks local) const {
  return error_at_anchor + error_of_drift * std::abs(static_cast<double>(local - anchor));
}

ClockModel fit(std::span<const ClockPoint> points) {
  // Differences from the last point keep every digit in a double.
  const ClockPoint& last = points.back();
  const auto time = [&](const ClockPoint& p) { return static_cast<double>(p.local - last.local); };
  const auto ahead = [&](const ClockPoint& p) { return static_cast<double>(p.ahead - last.ahead); };
  double weights = 0.0;
  double mean_time = 0.0;
  double mean_ahead = 0.0;
  for (const ClockPoint& point : points) {
    weights += weight_of(point);
    mean_time += weight_of(point) * time(point);
    mean_ahead += weight_of(point) * ahead(point);
  }
  mean_time /= weights;
  mean_ahead /= weights;
  double spread = 0.0;
  double slope = 0.0;
  for (const ClockPoint& point : points) {
    const double distance = time(point) - mean_time;
    spread += weight_of(point) * distance * distance;
    slope += weight_of(point) * distance * (ahead(point) - mean_ahead);
  }
  ClockModel model;
  model.anchor = last.local;
  model.drift = spread > 0.0 ? slope / spread : 0.0;
  model.offset = last.ahead + std::llround(mean_ahead - model.drift * mean_time);
  model.error_of_drift = spread > 0.0 ? 0.0 : kMostDrift;
  // Both are linear combinations of the points' offsets with these coefficients; so are their
  // maximum errors.
  for (const ClockPoint& point : points) {
    const double of_drift =
        spread > 0.0 ? weight_of(point) * (time(point) - mean_time) / spread : 0.0;
    const double of_offset = weight_of(point) / weights - of_drift * mean_time;
    model.error_of_drift += std::abs(of_drift) * error_of(point);
    model.error_at_anchor += std::abs(of_offset) * error_of(point);
  }
  return model;
}

ClockModel composed(const ClockModel& outer, const ClockModel& inner) {
  const Ticks between = inner.to_reference(inner.anchor);
  ClockModel model;
  model.anchor = inner.anchor;
  model.offset = outer.to_reference(between) - inner.anchor;
  model.drift = (1.0 + outer.drift) * (1.0 + inner.drift) - 1.0;
  model.error_at_anchor =
      outer.error_at(between) + (1.0 + std::abs(outer.drift)) * inner.error_at_anchor;
  model.error_of_drift = outer.error_of_drift + inner.error_of_drift;
  return model;
}

}  // namespace assay
