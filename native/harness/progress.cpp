#include "harness/progress.hpp"

#include "harness/json_writer.hpp"
#include "harness/stop_rule.hpp"

namespace assay {
namespace {

constexpr double kInterval = 0.25;  // seconds

}  // namespace

void ProgressWriter::samples(const std::vector<double>& values) {
  const Ticks now = ticks();
  if (!stream_ || seconds(now - summarised_) < kInterval) return;
  summarised_ = now;
  const Summary summary = summarise(values, confidence_);
  count_ = static_cast<std::int64_t>(values.size());
  median_ = summary.median;
  half_width_ = summary.half_width;
  write({}, {});
}

void ProgressWriter::within(double share, std::optional<double> rate) { write(share, rate); }

void ProgressWriter::write(std::optional<double> share, std::optional<double> rate) {
  const Ticks now = ticks();
  if (!stream_ || seconds(now - last_) < kInterval) return;
  last_ = now;
  JsonWriter record;
  record.begin_object().field("record", "progress").field("measurement", measurement_);
  record.field("samples", count_);
  record.field("elapsed", seconds(now - begin_)).field("median", median_);
  record.field("half_width", half_width_);
  record.field("share", share).field("rate", rate).end_object();
  stream_->write(record.text());
}

}  // namespace assay
