#include "noise/reported_ranks.hpp"

#include <algorithm>
#include <numeric>

namespace assay {

bool ReportedRanks::traces(int rank) const {
  return std::find(traced.begin(), traced.end(), rank) != traced.end();
}

ReportedRanks choose_reported(MPI_Comm comm, double level) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<double> levels(static_cast<std::size_t>(size));
  MPI_Allgather(&level, 1, MPI_DOUBLE, levels.data(), 1, MPI_DOUBLE, comm);
  std::vector<int> order(levels.size());  // the noisiest first
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return levels[static_cast<std::size_t>(a)] > levels[static_cast<std::size_t>(b)];
  });
  ReportedRanks reported;
  const auto last = order.begin() + std::min(size, kMostRanks);
  reported.summarised = std::find(order.begin(), last, rank) != last;
  std::vector<int> candidates = order;
  if (size > kMostTraces) candidates = {0, order[0], order[1], order.back()};
  std::sort(candidates.begin(), candidates.end());
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  reported.traced = candidates;
  return reported;
}

std::string listed(const std::vector<int>& ranks) {
  std::string text;
  for (const int rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::int64_t checked_count(Parameters& parameters, std::int64_t fallback) {
  return parameters.integer("count", fallback, 16, kMostCount);
}

double checked_span(Parameters& parameters, const std::string& name, double fallback) {
  const double span = parameters.real(name, fallback);
  if (!(span >= 1e-6 && span <= 0.1)) {
    throw KernelError("parameter '" + name + "' must be between 0.000001 and 0.1 seconds, not " +
                      std::to_string(span));
  }
  return span;
}

void check_trace(double span, std::int64_t count) {
  const double whole = span * static_cast<double>(count);
  if (whole > kLongestTrace) {
    throw KernelError("a sample would last " + std::to_string(whole) + " s, but at most 60 s may");
  }
}

void Traces::allocate() {
  const std::int64_t traces = std::max<std::int64_t>(1, kMostValues / count_);
  kept_.reserve(static_cast<std::size_t>(traces * count_));
  // Touched now, so that no page fault counts as noise.
  spare_.assign(static_cast<std::size_t>(count_), 0.0);
  kept_.assign(kept_.capacity(), 0.0);
  kept_.clear();
}

double* Traces::next() {
  const auto count = static_cast<std::size_t>(count_);
  if (kept_.size() + count <= kept_.capacity()) {
    const std::size_t before = kept_.size();
    kept_.resize(before + count);
    current_ = kept_.data() + before;
  } else {
    current_ = spare_.data();
  }
  return current_;
}

void Traces::note() {
  if (!current_) return;
  const double* end = current_ + count_;
  const auto [least, greatest] = std::minmax_element(static_cast<const double*>(current_), end);
  least_ = means_.empty() ? *least : std::min(least_, *least);
  greatest_ = means_.empty() ? *greatest : std::max(greatest_, *greatest);
  means_.push_back(std::accumulate(static_cast<const double*>(current_), end, 0.0) /
                   static_cast<double>(count_));
  current_ = nullptr;
}

std::int64_t Traces::segments(const ReportedRanks& reported) const {
  if (reported.traced.empty()) return 0;  // the measurement was interrupted
  const auto room = kMostValues / (count_ * static_cast<std::int64_t>(reported.traced.size()));
  const auto have = static_cast<std::int64_t>(kept_.size()) / count_;
  return std::min(std::max<std::int64_t>(1, room), have);
}

void Traces::add_series(std::vector<Series>& all, const ReportedRanks& reported,
                        const std::string& metric, const std::string& unit) const {
  if (!reported.traces(context_.rank)) return;
  const auto end = kept_.begin() + static_cast<std::ptrdiff_t>(segments(reported) * count_);
  all.push_back({metric, unit, context_.rank, {}, {kept_.begin(), end}});
}

void add_noise_series(const Context& context, const ReportedRanks& reported,
                      const std::vector<double>& noise, const std::vector<double>& detours,
                      std::vector<Series>& all) {
  std::vector<double> mean = noise;
  std::vector<double> greatest = detours;
  const int samples = static_cast<int>(noise.size());
  MPI_Allreduce(MPI_IN_PLACE, mean.data(), samples, MPI_DOUBLE, MPI_SUM, context.comm);
  MPI_Allreduce(MPI_IN_PLACE, greatest.data(), samples, MPI_DOUBLE, MPI_MAX, context.comm);
  for (double& value : mean) value /= context.size;
  if (context.rank == 0) {
    all.push_back({"noise", "1", {}, {}, mean});
    all.push_back({"detour", "s", {}, {}, greatest});
  }
  if (!reported.summarised || noise.empty()) return;
  const double own = std::accumulate(noise.begin(), noise.end(), 0.0) / samples;
  all.push_back({"noise", "1", context.rank, {}, {own}});
  const double worst = *std::max_element(detours.begin(), detours.end());
  all.push_back({"detour", "s", context.rank, {}, {worst}});
}

}  // namespace assay
