// linpack.search: finds the best block size, process grid and schemes for a linear system by trial.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "compute/blas.hpp"
#include "harness/agreement.hpp"
#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "harness/worst_error.hpp"
#include "linpack/choices.hpp"
#include "linpack/factor.hpp"
#include "linpack/residual.hpp"
#include "linpack/search.hpp"
#include "memory/pages.hpp"

namespace assay::linpack {
namespace {

// The share of a node's available memory that trials may take.
constexpr double kPartForSearch = 0.5;
// Twice the rate of any present core, in flop/s: it bounds the order of a trial that fits the time.
constexpr double kFastestCore = 4e11;
constexpr std::size_t kMostTold = 64;

std::string text_of(const Candidate& candidate) {
  return "nb=" + std::to_string(candidate.nb) + " p=" + std::to_string(candidate.p) +
         " broadcast=" + word_of(kBroadcasts, candidate.broadcast) +
         " swap=" + word_of(kSwaps, candidate.swap) + " depth=" + std::to_string(candidate.depth);
}

// The search runs before the first sample; a sample is one trial with its result.
class LinpackSearch : public Kernel {
 public:
  LinpackSearch(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    limits_.ranks = context.size;
    limits_.n = parameters.integer("n", 0);
    limits_.seconds = parameters.real("seconds", 20.0);
    limits_.seed = context.seed;
    if (limits_.n < 0) throw KernelError("parameter 'n' must not be negative");
    if (!(limits_.seconds > 0.0)) throw KernelError("parameter 'seconds' must be above 0");
    fault_ = PlantedFault(parameters, {"factor"});
    blas::require();
  }

  void setup() override {
    available_ = memory_per_rank(context_, 1.0);
    MPI_Allreduce(MPI_IN_PLACE, &available_, 1, MPI_DOUBLE, MPI_MIN, context_.comm);
    limits_.largest = limits_.n > 0 ? limits_.n : largest_that_fits(largest_in_time());
    reserve();
    begin_ = ticks();
    Search search(
        limits_, [this](const Candidate& candidate, std::int64_t n) { return trial(candidate, n); },
        [this] { return elapsed_; });
    outcome_ = search.run();
    parameters_.resolve("n", outcome_.n);
    system_ = system(outcome_.choice, outcome_.n);
  }

  void before_sample() override {
    check_last();
    system_->make();
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      unchecked_ = true;
      system_->solve(phases_);
    }
  }

  Verification verify() override {
    check_last();
    return error_.verdict(
        "scaled residual ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), infinity norms",
        kResidualTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::map<std::string, Value> facts() const override {
    auto known = blas::facts();
    const Candidate& choice = outcome_.choice;
    known["nb"] = choice.nb;
    known["p"] = std::int64_t{choice.p};
    known["q"] = std::int64_t{context_.size / choice.p};
    known["broadcast"] = word_of(kBroadcasts, choice.broadcast);
    known["swap"] = word_of(kSwaps, choice.swap);
    known["depth"] = std::int64_t{choice.depth};
    known["n"] = outcome_.n;
    known["search_seconds"] = elapsed_;
    if (std::isfinite(available_)) {
      known["memory_available"] = static_cast<std::int64_t>(available_);
    }
    known["candidates"] = static_cast<std::int64_t>(outcome_.trials.size());
    for (std::size_t i = 0; i < outcome_.trials.size(); ++i) {
      const Trials& each = outcome_.trials[i];
      const double rate = operations(static_cast<double>(each.n)) / each.best();
      if (each.candidate == choice && each.n == outcome_.n) known["rate"] = rate;
      if (i >= kMostTold) continue;
      char suffix[64];
      std::snprintf(suffix, sizeof suffix, " n=%lld: %.4g", static_cast<long long>(each.n), rate);
      known["candidate_" + std::to_string(i)] = text_of(each.candidate) + suffix;
    }
    return known;
  }

 private:
  Settings settings_for(const Candidate& candidate, std::int64_t n) const {
    Settings settings;
    settings.n = n;
    settings.nb = candidate.nb;
    settings.p = candidate.p;
    settings.broadcast = candidate.broadcast;
    settings.swap = candidate.swap;
    settings.depth = candidate.depth;
    settings.seed = context_.seed;
    settings.fault = fault_;
    return settings;
  }

  std::unique_ptr<LinearSystem> system(const Candidate& candidate, std::int64_t n) {
    return std::make_unique<LinearSystem>(context_.comm, settings_for(candidate, n),
                                          context_.threads, memory_);
  }

  // Calls `action` for each grid with settings whose memory is the maximum over the candidates of
  // that order.
  template <typename Action>
  void for_each_grid(std::int64_t n, Action action) const {
    Candidate candidate;
    candidate.nb = widths_to_try(n).back();
    for (const int p : grids_to_try(context_.size)) {
      candidate.p = p;
      action(settings_for(candidate, n));
    }
  }

  double bytes(std::int64_t n) const {
    double most = 0.0;
    for_each_grid(n, [&](const Settings& each) {
      most = std::max(most, bytes_per_rank(each, context_.size));
    });
    return most;
  }

  // The order at which the fastest cores would need a quarter of the time for one trial.
  std::int64_t largest_in_time() const {
    const double cores = static_cast<double>(context_.size) * context_.threads;
    const double flops = kFastestCore * cores * limits_.seconds / 4.0;
    return std::max<std::int64_t>(static_cast<std::int64_t>(std::cbrt(1.5 * flops)), 1);
  }

  // Approximately the greatest order up to n that fits into memory, never too large; at least 1.
  std::int64_t largest_that_fits(std::int64_t n) const {
    while (n > 1 && bytes(n) > kPartForSearch * available_) n -= std::max<std::int64_t>(n / 64, 1);
    return n;
  }

  // Allocates all memory for trials before the first one. Ranks agree on the outcome, because
  // trials communicate.
  void reserve() {
    Complaint complaint;
    try {
      require_memory(context_, kPartForSearch, bytes(limits_.largest),
                     "the parts of a matrix of order " + std::to_string(limits_.largest),
                     "n can be " + std::to_string(largest_that_fits(limits_.largest)));
      double doubles = 0.0;
      for_each_grid(limits_.largest, [&](const Settings& each) {
        doubles = std::max(doubles, doubles_per_rank(each, context_.size));
      });
      memory_.take(doubles);
    } catch (const KernelError& error) {
      complaint = error.what();
    }
    if (const Complaint agreed = agree(context_.comm, complaint)) throw KernelError(*agreed);
  }

  // Seconds of one solution, on the slowest rank.
  double trial(const Candidate& candidate, std::int64_t n) {
    const auto tried = system(candidate, n);
    tried->make();
    MPI_Barrier(context_.comm);
    const Ticks start = ticks();
    tried->solve(phases_);
    double times[] = {seconds(ticks() - start), seconds(ticks() - begin_)};
    MPI_Allreduce(MPI_IN_PLACE, times, 2, MPI_DOUBLE, MPI_MAX, context_.comm);
    elapsed_ = times[1];
    if (context_.progress) {
      context_.progress(std::min(elapsed_ / limits_.seconds, 1.0),
                        operations(static_cast<double>(n)) / times[0]);
    }
    return times[0];
  }

  // Checks the residual of the last sample, before the matrix is generated again.
  void check_last() {
    if (!unchecked_) return;
    error_.add(system_->residual());
    unchecked_ = false;
  }

  Context context_;
  Parameters& parameters_;
  SearchLimits limits_;
  SearchOutcome outcome_;
  double available_ = 0.0;  // bytes that each rank may take
  Ticks begin_ = 0;
  double elapsed_ = 0.0;  // seconds since then at the end of the last trial
  Workspace memory_;
  std::unique_ptr<LinearSystem> system_;
  Phases phases_{kPhaseNames};
  bool unchecked_ = false;
  WorstError error_;
  PlantedFault fault_;
};

ASSAY_KERNEL("linpack.search", LinpackSearch);

}  // namespace
}  // namespace assay::linpack
