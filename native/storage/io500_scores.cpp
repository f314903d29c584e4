#include "storage/io500_scores.hpp"

#include <cmath>

namespace assay {
namespace {

double geometric_mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double each : values) sum += std::log(each);
  return std::exp(sum / static_cast<double>(values.size()));
}

bool is_of_data(std::size_t phase) {
  return phase == kIorEasyWrite || phase == kIorHardWrite || phase == kIorEasyRead ||
         phase == kIorHardRead;
}

}  // namespace

void Io500Scores::end_sample() {
  std::vector<double> data;
  std::vector<double> files;
  for (std::size_t i = 0; i < kPhases; ++i) {
    (is_of_data(i) ? data : files).push_back(costs_[i].back());
  }
  of_data_.push_back(geometric_mean(data));
  of_files_.push_back(geometric_mean(files));
  of_both_.push_back(std::sqrt(of_data_.back() * of_files_.back()));
}

std::vector<Series> Io500Scores::series() const {
  std::vector<Series> series;
  for (std::size_t i = 0; i < kPhases; ++i)
    series.push_back({kPhaseNames[i], "s", {}, {}, costs_[i]});
  series.push_back({"bandwidth_score", "s", {}, {}, of_data_});
  series.push_back({"metadata_score", "s", {}, {}, of_files_});
  series.push_back({"score", "s", {}, {}, of_both_});
  return series;
}

}  // namespace assay
