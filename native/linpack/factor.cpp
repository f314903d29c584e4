#include "linpack/factor.hpp"

#include <algorithm>

#include "compute/blas.hpp"
#include "linpack/product.hpp"
#include "linpack/residual.hpp"
#include "linpack/solve.hpp"

namespace assay::linpack {
namespace {

// The completed share of an elimination's operations after `columns` of n.
double share_done(std::int64_t columns, std::int64_t n) {
  const double left = 1.0 - static_cast<double>(columns) / static_cast<double>(n);
  return 1.0 - left * left * left;
}

}  // namespace

LinearSystem::LinearSystem(MPI_Comm comm, const Settings& settings, int threads,
                           Workspace& workspace)
    : comm_(comm), settings_(settings), threads_(threads), generator_(settings), lower_(threads) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int p = settings_.p;
  rows_ = {settings_.n, settings_.nb, p};
  columns_ = {settings_.n + 1, settings_.nb, size / p};
  local_rows_ = rows_.count(rank % p);
  local_columns_ = columns_.count(rank / p);
  leading_ = padded(local_rows_);

  double* memory = workspace.take(doubles_per_rank(settings_, size));
  matrix_ = memory;
  memory += leading_ * local_columns_;
  for (int i = 0; i < 2; ++i) {
    panels_.emplace_back(memory);
    memory += Panel::doubles(settings_.n, settings_.nb, local_rows_);
  }
  u_ = memory;
}

void LinearSystem::connect() {
  grid_ = std::make_unique<Grid>(comm_, settings_.p);
  factorisation_ = std::make_unique<PanelFactorisation>(grid_->column, settings_, threads_);
  for (auto& each : broadcasts_) {
    each = std::make_unique<PanelBroadcast>(grid_->row, settings_.broadcast);
  }
  swaps_ = std::make_unique<RowSwaps>(grid_->column, settings_.swap, [this] {
    if (under_way_ != nullptr) under_way_->progress();
  });
}

void LinearSystem::make() {
  if (!grid_) connect();
  // OpenMP provides all threads: a pool of the BLAS's own would compete with them for the CPUs.
  blas::set_threads(1);
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t local = 0; local < local_columns_; ++local) {
    generator_.column(columns_.global(local, grid_->my_column), rows_, grid_->my_row,
                      entry(0, local));
  }
}

void LinearSystem::factor_panel(Panel& panel) {
  const std::int64_t column = columns_.local(panel.first());
#pragma omp parallel for num_threads(threads_) schedule(static)
  for (std::int64_t c = 0; c < panel.width(); ++c) {
    std::copy_n(entry(panel.first_row(), column + c), panel.row_count(),
                panel.rows() + c * panel.rows_leading());
  }
  factorisation_->factor(panel, rows_);
  if (settings_.fault.is("factor") && panel.first() == 0 && panel.below_count() > 0) {
    panel.rows()[panel.row_count() - 1] *= 1.000001;
  }
  if (!panel.has_top()) return;
  for (std::int64_t c = 0; c < panel.width(); ++c) {
    std::copy_n(panel.triangles() + c * panel.triangles_leading(), c + 1,
                entry(panel.first_row(), column + c));
  }
}

// Prepares the panel that begins with that column: factors it in place and starts its broadcast.
void LinearSystem::prepare(std::int64_t first, Phases& phases) {
  const auto number = static_cast<std::size_t>(first / settings_.nb % 2);
  Panel& panel = panels_[number];
  panel.place(first, settings_.n, rows_, grid_->my_row);
  const int owner = columns_.owner(first);
  if (owner == grid_->my_column) phases.in(kPanel, [&] { factor_panel(panel); });
  phases.in(kBroadcast,
            [&] { broadcasts_[number]->start(panel.message(), panel.message_size(), owner); });
}

// Updates local columns first … last - 1: interchanges rows, computes U's rows, subtracts L times
// U.
void LinearSystem::update(Panel& panel, const SwapPlan& plan, std::int64_t first, std::int64_t last,
                          PanelBroadcast* sent, Phases& phases) {
  const std::int64_t width = last - first;
  if (width <= 0) return;
  const bool in_place = grid_->p == 1;
  double* const u = in_place ? entry(panel.first_row(), first) : u_;
  const std::int64_t leading_u = in_place ? leading_ : padded(panel.width());
  under_way_ = sent;
  phases.in(kSwap, [&] { swaps_->apply(plan, matrix_, leading_, first, last, u, leading_u); });
  phases.in(kUpdate, [&] {
    // Only ranks with rows below the panel or with the rows of U themselves need them.
    if (panel.row_count() > 0) lower_.solve(width, u, leading_u);
    if (panel.has_top() && !in_place) {
#pragma omp parallel for num_threads(threads_) schedule(static)
      for (std::int64_t c = 0; c < width; ++c) {
        std::copy_n(u + c * leading_u, panel.width(), entry(panel.first_row(), first + c));
      }
    }
    const std::int64_t height = panel.below_count();
    subtract({height,
              width,
              panel.width(),
              {panel.below(), panel.rows_leading()},
              {u, leading_u},
              entry(local_rows_ - height, first),
              leading_},
             threads_, sent);
  });
}

void LinearSystem::solve(Phases& phases, const Progress& progress) {
  const std::int64_t n = settings_.n;
  const std::int64_t nb = settings_.nb;
  const bool ahead = settings_.depth > 0;
  x_.clear();
  if (ahead) prepare(0, phases);
  for (std::int64_t first = 0; first < n; first += nb) {
    if (!ahead) prepare(first, phases);
    const auto number = static_cast<std::size_t>(first / nb % 2);
    Panel& panel = panels_[number];
    phases.in(kBroadcast, [&] { broadcasts_[number]->finish(); });
    if (const auto column = panel.failed()) {
      throw KernelError("the matrix is singular: no pivot but 0 was found in column " +
                        std::to_string(*column + 1) + " of " + std::to_string(n));
    }
    SwapPlan plan;
    phases.in(kSwap, [&] {
      plan = plan_swaps(panel.pivot_rows().data(), static_cast<std::int32_t>(panel.width()), first,
                        rows_);
    });
    phases.in(kUpdate,
              [&] { lower_.set(panel.width(), panel.triangles(), panel.triangles_leading()); });
    const std::int64_t next = first + panel.width();
    std::int64_t local = columns_.below(next, grid_->my_column);
    PanelBroadcast* sent = nullptr;
    if (ahead && next < n) {
      if (columns_.owner(next) == grid_->my_column) {
        const std::int64_t end = columns_.below(std::min(next + nb, n), grid_->my_column);
        update(panel, plan, local, end, nullptr, phases);
        local = end;
      }
      prepare(next, phases);
      sent = broadcasts_[1 - number].get();
    }
    update(panel, plan, local, local_columns_, sent, phases);
    if (progress) progress(share_done(next, n));
  }
  phases.in(kSolve, [&] {
    x_ = back_substitute(*grid_, {n, rows_, columns_, matrix_, leading_}, threads_);
  });
}

std::vector<double> LinearSystem::solution() const { return whole_solution(*grid_, comm_, x_); }

double LinearSystem::residual() const {
  return scaled_residual(*grid_, comm_, generator_, rows_, columns_, solution(), threads_);
}

}  // namespace assay::linpack
