#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "linpack/row_swaps.hpp"

namespace assay::linpack {

SwapPlan plan_swaps(const std::int64_t* pivots, std::int32_t count, std::int64_t first,
                    const Cyclic& rows) {
  SwapPlan plan;
  plan.count = count;
  plan.owner = rows.owner(first);
  plan.first_row = rows.local(first);
  plan.risen.resize(static_cast<std::size_t>(rows.parts));

  // The original row at each place in the panel, and at each place below it that was exchanged. A
  // place below only gets rows of the panel, since it is only exchanged with a row that is not
  // processed yet.
  std::vector<std::int64_t> original(static_cast<std::size_t>(count));
  std::iota(original.begin(), original.end(), first);
  std::unordered_map<std::int64_t, std::int64_t> below;
  const std::int64_t end = first + count;
  for (std::int32_t j = 0; j < count; ++j) {
    const std::int64_t pivot = pivots[j];
    std::int64_t& other = pivot < end ? original[static_cast<std::size_t>(pivot - first)]
                                      : below.try_emplace(pivot, pivot).first->second;
    std::swap(original[static_cast<std::size_t>(j)], other);
  }

  for (std::int32_t u = 0; u < count; ++u) {
    const std::int64_t row = original[static_cast<std::size_t>(u)];
    if (row < end) {
      plan.kept.push_back({static_cast<std::int32_t>(row - first), u});
    } else {
      const auto top = static_cast<std::int32_t>(below.at(row) - first);
      plan.risen[static_cast<std::size_t>(rows.owner(row))].push_back({rows.local(row), u, top});
    }
  }
  std::sort(plan.kept.begin(), plan.kept.end(),
            [](const auto& x, const auto& y) { return x.top < y.top; });
  for (auto& each : plan.risen) {
    std::sort(each.begin(), each.end(), [](const auto& x, const auto& y) { return x.row < y.row; });
  }
  return plan;
}

}  // namespace assay::linpack
