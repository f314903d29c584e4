#include "hpcg/strips.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace assay::hpcg {

namespace {

constexpr unsigned kAllLanes = (1U << kLanes) - 1;
// Relative times of strips: two gathers take longer than the loads of several runs.
constexpr std::size_t kRunCost = 2;
constexpr std::size_t kPairCost = 3;
constexpr std::size_t kOtherCost = 6;

constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();

bool has(unsigned lanes, std::size_t lane) { return (lanes >> lane & 1U) != 0; }

}  // namespace

void SliceStrips::Rest::clear() {
  runs.clear();
  pairs.clear();
  others.clear();
}

std::size_t SliceStrips::Rest::cost() const {
  return kRunCost * runs.size() + kPairCost * pairs.size() + kOtherCost * others.size();
}

void SliceStrips::begin(std::int64_t length, const Part& busy) {
  length_ = length;
  busy_ = busy;
  count_ = 0;
  next_ = 0;
  lane_ = 0;
}

// Lanes mostly have the columns of the lane before, one further.
void SliceStrips::add(int lane, std::int32_t column, double value) {
  if (lane != lane_) next_ = 0;
  lane_ = lane;
  const std::int32_t first = column - lane;
  std::size_t at = next_;
  for (std::size_t tried = 0; tried < count_ && diagonals_[at].first != first; ++tried) {
    at = at + 1 < count_ ? at + 1 : 0;
  }
  if (count_ == 0 || diagonals_[at].first != first) {
    at = count_++;
    if (count_ > diagonals_.size()) diagonals_.resize(2 * count_);
    diagonals_[at].first = first;
    diagonals_[at].lanes = 0;
    diagonals_[at].value = {};
  }
  Strip& here = diagonals_[at];
  here.lanes |= 1U << lane;
  here.value[static_cast<std::size_t>(lane)] = value;
  next_ = at + 1 < count_ ? at + 1 : 0;
}

bool SliceStrips::may_read(std::int32_t first) const {
  return first >= 0 && first + kLanes <= length_ &&
         (first >= busy_.end || first + kLanes <= busy_.begin);
}

// A strip with columns: as a pair, if two windows hold them.
void SliceStrips::add_strip(const Strip& strip, Rest& to) const {
  Strip pair = strip;
  pair.first = pair.second = kNone;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    if (has(strip.lanes, lane)) pair.first = std::min(pair.first, strip.column[lane]);
  }
  const auto limit = static_cast<std::int32_t>(length_ - kLanes);
  pair.first = std::min(pair.first, limit);
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const std::int32_t column = strip.column[lane];
    if (has(strip.lanes, lane) && column >= pair.first + kLanes) {
      pair.second = std::min(pair.second, column);
    }
  }
  pair.second = pair.second == kNone ? pair.first : std::min(pair.second, limit);
  bool two = may_read(pair.first) && may_read(pair.second);
  for (std::size_t lane = 0; lane < kLanes && two; ++lane) {
    const std::int32_t column = strip.column[lane];
    if (has(strip.lanes, lane) && column >= pair.first + kLanes) {
      two = column < pair.second + kLanes;
    }
  }
  (two ? to.pairs : to.others).push_back(two ? pair : strip);
}

// Diagonals without a lane in common share a strip.
void SliceStrips::pair_diagonals() {
  rest_.clear();
  std::vector<bool> taken(partial_.size(), false);
  for (std::size_t i = 0; i < partial_.size(); ++i) {
    if (taken[i]) continue;
    Strip strip = *partial_[i];
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      strip.column[lane] = strip.first + static_cast<std::int32_t>(lane);
    }
    std::size_t j = i + 1;
    while (j < partial_.size() && (taken[j] || (partial_[j]->lanes & strip.lanes) != 0)) ++j;
    if (j == partial_.size()) {
      if (may_read(strip.first)) {
        rest_.runs.push_back(strip);
      } else {
        add_strip(strip, rest_);
      }
      continue;
    }
    taken[j] = true;
    strip.lanes |= partial_[j]->lanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (!has(partial_[j]->lanes, lane)) continue;
      strip.column[lane] = partial_[j]->first + static_cast<std::int32_t>(lane);
      strip.value[lane] = partial_[j]->value[lane];
    }
    add_strip(strip, rest_);
  }
}

// The first entry of each lane by column, then the second, and so on.
void SliceStrips::take_by_lanes() {
  by_lanes_.clear();
  std::vector<Strip> strips;
  std::vector<std::pair<std::int32_t, double>> entries;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    entries.clear();
    for (const Strip* each : partial_) {
      if (!has(each->lanes, lane)) continue;
      entries.emplace_back(each->first + static_cast<std::int32_t>(lane), each->value[lane]);
    }
    std::sort(entries.begin(), entries.end());
    if (entries.size() > strips.size()) strips.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      strips[i].lanes |= 1U << lane;
      std::tie(strips[i].column[lane], strips[i].value[lane]) = entries[i];
    }
  }
  for (const Strip& each : strips) add_strip(each, by_lanes_);
}

void SliceStrips::end() {
  runs_.clear();
  partial_.clear();
  rest_.clear();
  for (std::size_t i = 0; i < count_; ++i) {
    // A run with all lanes reads nothing but its entries.
    (diagonals_[i].lanes == kAllLanes ? runs_ : partial_).push_back(&diagonals_[i]);
  }
  if (partial_.empty()) return;
  pair_diagonals();
  take_by_lanes();
  if (by_lanes_.cost() < rest_.cost()) std::swap(rest_, by_lanes_);
  for (const Strip& each : rest_.runs) runs_.push_back(&each);
}

void SliceStrips::write(double* value, std::int32_t* column) const {
  const auto put = [&](const Strip& strip) {
    std::copy(strip.value.begin(), strip.value.end(), value);
    value += kLanes;
  };
  for (const Strip* each : runs_) {
    put(*each);
    *column = each->first;
    column += Slices::kRun;
  }
  for (const Strip& each : rest_.pairs) {
    put(each);
    std::array<std::uint8_t, kLanes> place{};
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (!has(each.lanes, lane)) continue;
      const std::int32_t in_first = each.column[lane] - each.first;
      place[lane] = static_cast<std::uint8_t>(
          in_first < kLanes ? in_first : each.column[lane] - each.second + kLanes);
    }
    column[0] = each.first;
    column[1] = each.second;
    std::memcpy(column + 2, place.data(), sizeof place);
    column += Slices::kPair;
  }
  for (const Strip& each : rest_.others) {
    put(each);
    std::size_t some = 0;
    while (!has(each.lanes, some)) ++some;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      column[lane] = each.column[has(each.lanes, lane) ? lane : some];
    }
    column += Slices::kOther;
  }
}

}  // namespace assay::hpcg
