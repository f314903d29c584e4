// Progress records: for whoever watches a measurement under way. On rank 0 alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/stream.hpp"

namespace assay {

// Writes at most four records a second, the first not before a quarter of a second has passed.
class ProgressWriter {
 public:
  // Without a stream it writes nothing. `begin`: when the measurement began.
  ProgressWriter(Stream* stream, std::string measurement, double confidence, Ticks begin)
      : stream_(stream),
        measurement_(std::move(measurement)),
        confidence_(confidence),
        begin_(begin),
        summarised_(begin),
        last_(begin) {}

  // After a block of samples: the values so far.
  void samples(const std::vector<double>& values);

  // From within a sample: what share of it is done, 0 to 1, and at what rate, where that is known.
  void within(double share, std::optional<double> rate);

 private:
  void write(std::optional<double> share, std::optional<double> rate);

  Stream* stream_;
  std::string measurement_;
  double confidence_;
  Ticks begin_;
  Ticks summarised_;  // when samples were last looked at
  Ticks last_;        // when a record was last written
  std::int64_t count_ = 0;
  std::optional<double> median_;
  std::optional<double> half_width_;
};

}  // namespace assay
