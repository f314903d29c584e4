// npb.mg: V-cycles of multigrid for Poisson's problem on a periodic cube.
#include <memory>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/common/outcome.hpp"
#include "npb/mg/solver.hpp"

namespace assay::npb {
namespace {

class Mg : public Kernel {
 public:
  Mg(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kMgClasses, parameters.choice("class", "S", class_names(kMgClasses)))) {
    // Different charges; a smoother wrong by a millionth; a start that is not zero.
    fault_ = PlantedFault(parameters, {"seed", "smoother", "start"});
  }

  void setup() override {
    require_memory(context_, 1.0, mg_bytes_per_rank(problem_, context_.size, context_.threads),
                   "class " + std::string(problem_.name), "use a smaller class or more nodes");
    solver_ = std::make_unique<MgSolver>(problem_, context_.comm, context_.threads);
    std::uint64_t seed = kMgSeed;
    if (fault_.is("seed")) seed += 2;
    if (fault_.is("smoother")) solver_->spoil_smoother(1.000001);
    const std::uint64_t points = std::uint64_t{1} << (3 * problem_.log2_extent);
    solver_->place_charges(find_charges(points, seed, context_.comm, context_.threads));
    solver_->clear();
    Phases untimed({"", "", "", ""});
    solver_->solve(1, untimed);  // the benchmark's untimed cycle
    phases_.report_to(context_);
  }

  void before_sample() override {
    if (fault_.is("start")) return;
    solver_->clear();
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      norm_ = solver_->solve(problem_.cycles, phases_);
      error_.add(solver_->works() ? relative_error(norm_, problem_.norm) : 0.0);
      phases_.end_sample();
    }
  }

  Verification verify() override {
    return error_.verdict("relative error of the residual's norm", kMgTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    if (!solver_) return {};
    return {{"norm", norm_},
            {"working_ranks", std::int64_t{solver_->working_ranks()}},
            {"bytes_of_rank", solver_->bytes()}};
  }

 private:
  Context context_;
  const MgClass& problem_;
  std::unique_ptr<MgSolver> solver_;
  Phases phases_{{"compute", "halo", "gather", "allreduce"}};
  WorstError error_;
  double norm_ = 0.0;
  PlantedFault fault_;
};

ASSAY_KERNEL("npb.mg", Mg);

}  // namespace
}  // namespace assay::npb
