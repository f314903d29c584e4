#include "npb/cg/matrix.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "npb/common/random.hpp"

namespace assay::npb {

GeneratingVectors generate_vectors(const CgClass& problem, std::uint64_t seed) {
  const std::int32_t order = problem.order;
  // Positions are drawn over the next power of two and those beyond the order dropped, as
  // specified.
  const double span = static_cast<double>(std::bit_ceil(static_cast<std::uint32_t>(order)));
  Random46 random(seed);
  random.next();  // the benchmark draws one number before the matrix

  GeneratingVectors vectors;
  const std::size_t most = static_cast<std::size_t>(order) * (problem.nonzeros + 1);
  vectors.start.reserve(static_cast<std::size_t>(order) + 1);
  vectors.index.reserve(most);
  vectors.value.reserve(most);
  for (std::int32_t i = 0; i < order; ++i) {
    const std::size_t first = vectors.index.size();
    vectors.start.push_back(static_cast<std::int64_t>(first));
    const auto find = [&](std::int32_t position) {
      return std::find(vectors.index.begin() + first, vectors.index.end(), position);
    };
    while (vectors.index.size() - first < static_cast<std::size_t>(problem.nonzeros)) {
      const double value = random.next();
      const auto position = static_cast<std::int32_t>(span * random.next());
      if (position >= order || find(position) != vectors.index.end()) continue;
      vectors.index.push_back(position);
      vectors.value.push_back(value);
    }
    const auto own = find(i);
    if (own != vectors.index.end()) {
      vectors.value[own - vectors.index.begin()] = 0.5;
    } else {
      vectors.index.push_back(i);
      vectors.value.push_back(0.5);
    }
  }
  vectors.start.push_back(static_cast<std::int64_t>(vectors.index.size()));
  return vectors;
}

std::vector<std::int64_t> row_bounds(const GeneratingVectors& vectors) {
  std::vector<std::int64_t> bounds(vectors.order(), 0);
  for (std::int32_t i = 0; i < vectors.order(); ++i) {
    const std::int64_t length = vectors.start[i + 1] - vectors.start[i];
    for (std::int64_t k = vectors.start[i]; k < vectors.start[i + 1]; ++k) {
      bounds[vectors.index[k]] += length;
    }
  }
  return bounds;
}

std::vector<std::int32_t> split_rows(const std::vector<std::int64_t>& weight, std::int32_t begin,
                                     std::int32_t end, int parts) {
  const std::int64_t total =
      std::accumulate(weight.begin() + begin, weight.begin() + end, std::int64_t{0});
  std::vector<std::int32_t> limits{begin};
  std::int64_t before = 0;
  std::int32_t row = begin;
  for (int part = 1; part < parts; ++part) {
    // A row belongs to the part that contains its midpoint.
    while (row < end && (2 * before + weight[row]) * parts <= 2 * total * part) {
      before += weight[row++];
    }
    limits.push_back(row);
  }
  limits.push_back(end);
  return limits;
}

RowIncidence::RowIncidence(const GeneratingVectors& vectors, std::int32_t begin, std::int32_t end)
    : begin_(begin), start_(static_cast<std::size_t>(end - begin) + 1, 0) {
  const auto for_each_element = [&](auto&& visit) {
    for (std::int32_t i = 0; i < vectors.order(); ++i) {
      for (std::int64_t k = vectors.start[i]; k < vectors.start[i + 1]; ++k) {
        const std::int32_t row = vectors.index[k];
        if (row >= begin && row < end) visit(row - begin, i, vectors.value[k]);
      }
    }
  };
  for_each_element([&](std::int32_t row, std::int32_t, double) { ++start_[row + 1]; });
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  entries_.resize(start_.back());
  std::vector<std::int64_t> next(start_.begin(), start_.end() - 1);
  for_each_element([&](std::int32_t row, std::int32_t vector, double value) {
    entries_[next[row]++] = {vector, value};
  });
}

template <typename Index>
SparseRows<Index> build_rows(const GeneratingVectors& vectors, const RowIncidence& incidence,
                             const std::vector<std::int64_t>& bounds, double shift,
                             std::int32_t begin, std::int32_t end) {
  const std::int64_t capacity =
      std::accumulate(bounds.begin() + begin, bounds.begin() + end, std::int64_t{0});
  SparseRows<Index> rows;
  rows.begin = begin;
  rows.end = end;
  rows.start = HugeArray<std::int64_t>(static_cast<std::size_t>(end - begin) + 1);
  rows.column = HugeArray<Index>(capacity);
  rows.value = HugeArray<double>(capacity);

  std::vector<double> sum(vectors.order(), 0.0);
  std::vector<char> present(vectors.order(), 0);
  std::vector<std::int32_t> columns;
  std::int64_t filled = 0;
  for (std::int32_t row = begin; row < end; ++row) {
    rows.start[row - begin] = filled;
    columns.clear();
    for (auto entry = incidence.row_begin(row); entry != incidence.row_end(row); ++entry) {
      const double weight = std::pow(kCgConditioning, static_cast<double>(entry->vector) /
                                                          static_cast<double>(vectors.order()));
      const double scale = weight * entry->value;
      for (std::int64_t k = vectors.start[entry->vector]; k < vectors.start[entry->vector + 1];
           ++k) {
        const std::int32_t column = vectors.index[k];
        if (!present[column]) {
          present[column] = 1;
          columns.push_back(column);
        }
        sum[column] += scale * vectors.value[k];
      }
    }
    sum[row] += kCgConditioning - shift;  // always present: v_row has an element in its own row
    std::sort(columns.begin(), columns.end());
    for (const std::int32_t column : columns) {
      rows.column[filled] = static_cast<Index>(column);
      rows.value[filled++] = sum[column];
      sum[column] = 0.0;
      present[column] = 0;
    }
  }
  rows.start[end - begin] = filled;
  return rows;
}

template SparseRows<std::uint16_t> build_rows(const GeneratingVectors&, const RowIncidence&,
                                              const std::vector<std::int64_t>&, double,
                                              std::int32_t, std::int32_t);
template SparseRows<std::int32_t> build_rows(const GeneratingVectors&, const RowIncidence&,
                                             const std::vector<std::int64_t>&, double, std::int32_t,
                                             std::int32_t);

}  // namespace assay::npb
