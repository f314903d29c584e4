// Progress records, for observers of a running measurement. Only on rank 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/clock.hpp"
#include "harness/stream.hpp"

namespace assay {

// Writes at most four records per second, the first no earlier than a quarter of a second after the
// start.
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

  // From within a sample: the completed share of it, 0 to 1, and the rate, if known.
  void within(double share, std::optional<double> rate);

 private:
  void write(std::optional<double> share, std::optional<double> rate);

  Stream* stream_;
  std::string measurement_;
  double confidence_;
  Ticks begin_;
  Ticks summarised_;  // when samples were last summarised
  Ticks last_;        // when a record was last written
  std::int64_t count_ = 0;
  std::optional<double> median_;
  std::optional<double> half_width_;
};

}  // namespace assay
