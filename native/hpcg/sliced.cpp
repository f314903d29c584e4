#include "hpcg/sliced.hpp"

#include <omp.h>

#include <algorithm>
#include <cstddef>

namespace assay::hpcg {

namespace {

// Calls each(first slice, end) for the calling thread's part of every step, in order or in reverse,
// with a barrier between steps if `ordered`.
template <bool kOrdered, class Each>
void for_steps(const SlicedMatrix& a, bool backward, const Each& each) {
  const int thread = omp_get_thread_num();
  const int threads = omp_get_num_threads();
  const std::size_t steps = a.step.size() - 1;
  for (std::size_t k = 0; k < steps; ++k) {
    const std::size_t step = backward ? steps - 1 - k : k;
    const Part part = part_of(a.step[step + 1] - a.step[step], thread, threads);
    each(a.step[step] + part.begin, a.step[step] + part.end);
    if constexpr (kOrdered) {
      if (threads > 1) {
#pragma omp barrier
      }
    }
  }
}

// Fills slices from rows: entries(row, entry) calls entry(column, value) for each nonzero, with
// columns below `length`. busy(slice) are the elements that may be written while a slice is read.
template <class Entries, class Busy, class Step>
Slices filled(std::int64_t slices, std::int64_t length, const Entries& entries, const Busy& busy,
              const Step& for_mine, int threads) {
  Slices m;
  m.of = HugeArray<Slices::Strips>(static_cast<std::size_t>(slices));
  const auto for_slices = [&](const auto& each) {
#pragma omp parallel num_threads(threads)
    {
      SliceStrips strips;
      for_mine([&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t s = begin; s < end; ++s) {
          strips.begin(length, busy(s));
          for (std::int32_t lane = 0; lane < kLanes; ++lane) {
            entries(s * kLanes + lane,
                    [&](std::int32_t column, double value) { strips.add(lane, column, value); });
          }
          strips.end();
          each(m.of[static_cast<std::size_t>(s)], strips);
        }
      });
    }
  };
  for_slices([](Slices::Strips& to, const SliceStrips& strips) {
    to = {0, 0, strips.runs(), strips.pairs(), strips.others()};
  });
  std::int64_t value = 0;
  std::int64_t column = 0;
  for (std::size_t s = 0; s < m.of.size(); ++s) {
    m.of[s].value = value;
    m.of[s].column = column;
    value += m.of[s].count();
    column += m.of[s].columns();
  }
  m.value = HugeArray<double>(static_cast<std::size_t>(value * kLanes));
  m.column = HugeArray<std::int32_t>(static_cast<std::size_t>(column));
  for_slices([&](const Slices::Strips& to, const SliceStrips& strips) {
    strips.write(m.value.data() + to.value * kLanes, m.column.data() + to.column);
  });
  return m;
}

Part nothing_busy(std::int64_t) { return {}; }

auto in_parts(std::int64_t slices) {
  return [slices](const auto& each) {
    const Part part = part_of(slices, omp_get_thread_num(), omp_get_num_threads());
    each(part.begin, part.end);
  };
}

}  // namespace

SlicedMatrix slice(const SparseMatrix& a, const Schedule& order, int threads) {
  SlicedMatrix m;
  m.position.resize(static_cast<std::size_t>(a.rows));
  m.step.push_back(0);
  for (std::size_t step = 0; step + 1 < order.start.size(); ++step) {
    for (std::int32_t at = order.start[step]; at < order.start[step + 1]; ++at) {
      const std::int32_t row = order.row[static_cast<std::size_t>(at)];
      m.position[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(m.row_at.size());
      m.row_at.push_back(row);
    }
    while (static_cast<std::int64_t>(m.row_at.size()) % kLanes != 0) m.row_at.push_back(-1);
    m.step.push_back(static_cast<std::int64_t>(m.row_at.size()) / kLanes);
  }
  m.own = static_cast<std::int64_t>(m.row_at.size());
  m.length = m.own + (a.columns - a.rows) + 1;
  m.diagonal = touched(m.own, threads);
  m.inverse = touched(m.own, threads);

  const auto entries = [&](bool upper) {
    return [&a, &m, upper](std::int64_t at, const auto& entry) {
      const std::int32_t row = m.row_at[static_cast<std::size_t>(at)];
      if (row < 0) return;
      const auto r = static_cast<std::size_t>(row);
      for (std::int64_t k = a.start[r]; k < a.start[r + 1]; ++k) {
        const std::int32_t column = a.column[static_cast<std::size_t>(k)];
        if (column == row) continue;
        const auto to =
            static_cast<std::int32_t>(column < a.rows ? m.position[static_cast<std::size_t>(column)]
                                                      : m.own + column - a.rows);
        if ((column < a.rows && to > at) == upper) entry(to, a.value[static_cast<std::size_t>(k)]);
      }
    };
  };
  const auto mine = [&m](const auto& each) { for_steps<false>(m, false, each); };
  const std::int64_t slices = m.own / kLanes;
  // Rows of a step are written at the same time.
  const auto busy = [&m](std::int64_t s) {
    const auto after = std::upper_bound(m.step.begin(), m.step.end(), s);
    return Part{*(after - 1) * kLanes, *after * kLanes};
  };
  m.lower = filled(slices, m.length, entries(false), busy, mine, threads);
  m.upper = filled(slices, m.length, entries(true), busy, mine, threads);
  for (std::size_t at = 0; at < m.row_at.size(); ++at) {
    double diagonal = 1.0;
    const std::int32_t row = m.row_at[at];
    if (row >= 0) {
      const auto r = static_cast<std::size_t>(row);
      for (std::int64_t k = a.start[r]; k < a.start[r + 1]; ++k) {
        if (a.column[static_cast<std::size_t>(k)] == row) {
          diagonal = a.value[static_cast<std::size_t>(k)];
        }
      }
    }
    m.diagonal[at] = diagonal;
    m.inverse[at] = 1.0 / diagonal;
  }
  return m;
}

Slices lower_rows(const SlicedMatrix& a, const std::vector<std::int32_t>& positions, int threads) {
  const auto slices = static_cast<std::int64_t>(positions.size()) / kLanes;
  const auto entries = [&](std::int64_t at, const auto& entry) {
    const std::int64_t row = positions[static_cast<std::size_t>(at)];
    if (row != a.zero()) for_entries(a.lower, row, entry);
  };
  return filled(slices, a.length, entries, nothing_busy, in_parts(slices), threads);
}

Slices injected_entries(const SlicedMatrix& a, const std::vector<std::int32_t>& positions,
                        int threads) {
  std::vector<std::int32_t> coarse(static_cast<std::size_t>(a.own), -1);
  for (std::size_t at = 0; at < positions.size(); ++at) {
    if (positions[at] != a.zero()) {
      coarse[static_cast<std::size_t>(positions[at])] = static_cast<std::int32_t>(at);
    }
  }
  const std::int64_t slices = a.own / kLanes;
  const auto entries = [&](std::int64_t at, const auto& entry) {
    for_entries(a.upper, at, [&](std::int32_t column, double value) {
      const std::int32_t to = coarse[static_cast<std::size_t>(column)];
      if (to >= 0) entry(to, value);
    });
  };
  const auto mine = [&a](const auto& each) { for_steps<false>(a, false, each); };
  return filled(slices, static_cast<std::int64_t>(positions.size()), entries, nothing_busy, mine,
                threads);
}

void multiply(const SlicedMatrix& a, const double* x, double* y, int threads) {
#pragma omp parallel num_threads(threads)
  for_steps<false>(a, false, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t at = s * kLanes;
      Eight sum = load_lanes(a.diagonal.data() + at) * load_lanes(x + at);
      add_products(a.lower, s, x, sum);
      add_products(a.upper, s, x, sum);
      store_lanes(y + at, sum);
    }
  });
}

namespace {

// x = (D + U)^-1 right, from the last step to the first.
void backward_sweep(const SlicedMatrix& a, const double* right, double* x) {
  for_steps<true>(a, true, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = end; s-- > begin;) {
      const std::int64_t at = s * kLanes;
      Eight sum{};
      add_products_backward(a.upper, s, x, sum);
      store_lanes(x + at, (load_lanes(right + at) - sum) * load_lanes(a.inverse.data() + at));
    }
  });
}

}  // namespace

void smooth_from_zero(const SlicedMatrix& a, const double* r, double* x, double* d_s, int threads) {
#pragma omp parallel num_threads(threads)
  {
    for_steps<true>(a, false, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        const std::int64_t at = s * kLanes;
        Eight sum{};
        add_products(a.lower, s, x, sum);
        const Eight rest = load_lanes(r + at) - sum;
        store_lanes(d_s + at, rest);
        store_lanes(x + at, rest * load_lanes(a.inverse.data() + at));
      }
    });
    backward_sweep(a, d_s, x);
  }
}

void smooth(const SlicedMatrix& a, const Slices& injected, const double* correction,
            const double* r, double* x, double* w, int threads) {
#pragma omp parallel num_threads(threads)
  {
    for_steps<true>(a, false, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        const std::int64_t at = s * kLanes;
        Eight lower{};
        Eight upper = load_lanes(w + at);
        add_products(a.lower, s, x, lower);
        add_products(injected, s, correction, upper);
        const Eight rest = load_lanes(r + at) - lower;
        store_lanes(w + at, rest);
        // (rest - U x) / D = x + (rest - (D + U) x) / D
        store_lanes(x + at,
                    load_lanes(x + at) + (rest - upper) * load_lanes(a.inverse.data() + at));
      }
    });
    backward_sweep(a, w, x);
  }
}

}  // namespace assay::hpcg
