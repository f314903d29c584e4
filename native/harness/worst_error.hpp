// The maximum error over all runs, for verification.
#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "harness/kernel.hpp"

namespace assay {

// The check fails if there was no run, or if a run yielded NaN.
class WorstError {
 public:
  void add(double error) {
    any_ = true;
    if (std::isnan(error)) nan_ = true;
    if (error > worst_) worst_ = error;
  }

  Verification verdict(const std::string& what, double tolerance) const {
    const double value = any_ && !nan_ ? worst_ : std::numeric_limits<double>::quiet_NaN();
    return {.passed = value <= tolerance, .what = what, .value = value, .tolerance = tolerance};
  }

 private:
  bool any_ = false;
  bool nan_ = false;
  double worst_ = 0.0;
};

}  // namespace assay
