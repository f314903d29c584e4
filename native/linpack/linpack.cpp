// linpack: a dense linear system solved by LU factorisation with partial pivoting.
#include <algorithm>
#include <memory>
#include <string>

#include "compute/blas.hpp"
#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "harness/worst_error.hpp"
#include "linpack/choices.hpp"
#include "linpack/factor.hpp"
#include "linpack/residual.hpp"
#include "memory/pages.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay::linpack {
namespace {

constexpr std::int64_t kLargestOrder = 100'000'000;
// The share of a node's available memory that the system may take.
constexpr double kPartOfMemory = 0.95;

class Linpack : public Kernel {
 public:
  Linpack(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    settings_.n = parameters.integer("n", 0, 0, kLargestOrder);
    fraction_ = parameters.positive("fraction", 1.0, 1.0);
    fill_ = parameters.positive("fill", 0.8, 1.0);
    settings_.nb = parameters.integer("nb", 0, 0, kWidestBlock);
    settings_.p = static_cast<int>(parameters.integer("p", 0, 0, context.size));
    std::vector<std::string> broadcasts = names(kBroadcasts);
    broadcasts.emplace_back("auto");
    const std::string broadcast = parameters.choice("broadcast", "auto", broadcasts);
    settings_.swap = choice_of(kSwaps, parameters.choice("swap", "auto", names(kSwaps)));
    settings_.depth = static_cast<int>(parameters.integer("depth", 1, 0, 1));
    settings_.matrix =
        choice_of(kMatrices, parameters.choice("matrix", "random", names(kMatrices)));
    settings_.seed = context.seed;
    settings_.fault = PlantedFault(parameters, {"pivot", "factor"});
    if (settings_.nb == 0) settings_.nb = kUsualBlock;
    if (settings_.p == 0) settings_.p = usual_grid_rows(context.size);
    if (context.size % settings_.p != 0) {
      throw KernelError("parameter 'p' must divide the number of ranks, " +
                        std::to_string(context.size) + ", which " + std::to_string(settings_.p) +
                        " does not");
    }
    settings_.broadcast = broadcast == "auto" ? kUsualBroadcast : choice_of(kBroadcasts, broadcast);
    parameters.resolve("nb", settings_.nb);
    parameters.resolve("p", std::int64_t{settings_.p});
    parameters.resolve("broadcast", word_of(kBroadcasts, settings_.broadcast));
    blas::require();
  }

  void setup() override {
    if (settings_.n == 0) choose_order();
    check_memory();
    system_ = std::make_unique<LinearSystem>(context_.comm, settings_, context_.threads, memory_);
  }

  void before_sample() override {
    check_last();
    phases_.restart();
    system_->make();
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      unchecked_ = true;
      system_->solve(phases_, progress());
      phases_.end_sample();
    }
  }

  Verification verify() override {
    check_last();
    return error_.verdict(
        "scaled residual ||Ax-b|| / (eps (||A|| ||x|| + ||b||) n), infinity norms",
        kResidualTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    auto known = blas::facts();
    known["n"] = settings_.n;
    known["nb"] = settings_.nb;
    known["p"] = std::int64_t{settings_.p};
    known["q"] = std::int64_t{context_.size / settings_.p};
    known["broadcast"] = word_of(kBroadcasts, settings_.broadcast);
    known["swap"] = word_of(kSwaps, settings_.swap);
    known["memory"] = static_cast<std::int64_t>(memory_.bytes());
    return known;
  }

 private:
  // Rank 0 reports the completed share and the rate so far.
  Progress progress() const {
    if (!context_.progress) return {};
    return [this, begin = ticks()](double done) {
      const auto n = static_cast<double>(settings_.n);
      context_.progress(done, done * operations(n) / seconds(ticks() - begin));
    };
  }

  // The node with the least memory decides, because all ranks have equal parts of the matrix.
  void choose_order() {
    double bytes = memory_per_rank(context_, std::min(fill_, kPartOfMemory));
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MIN, context_.comm);
    if (!(bytes < 0x1p62)) {
      throw KernelError("this system doesn't report its available memory; set n");
    }
    const std::int64_t largest = largest_order(settings_, context_.size, bytes);
    settings_.n = std::max(std::int64_t{1},
                           static_cast<std::int64_t>(fraction_ * static_cast<double>(largest)));
    parameters_.resolve("n", settings_.n);
  }

  void check_memory() const {
    const double most = memory_per_rank(context_, kPartOfMemory);
    require_memory(
        context_, kPartOfMemory, bytes_per_rank(settings_, context_.size),
        "the parts of a matrix of order " + std::to_string(settings_.n),
        "n can be at most " + std::to_string(largest_order(settings_, context_.size, most)));
  }

  // Checks the residual of the last solution, before the matrix is generated again.
  void check_last() {
    if (!unchecked_) return;
    error_.add(system_->residual());
    unchecked_ = false;
  }

  static constexpr BroadcastScheme kUsualBroadcast = BroadcastScheme::modified_ring;

  Context context_;
  Parameters& parameters_;
  Settings settings_;
  double fraction_ = 1.0;
  double fill_ = 1.0;
  Workspace memory_;
  std::unique_ptr<LinearSystem> system_;
  Phases phases_{kPhaseNames};
  bool unchecked_ = false;
  WorstError error_;
};

ASSAY_KERNEL("linpack", Linpack);

}  // namespace
}  // namespace assay::linpack
