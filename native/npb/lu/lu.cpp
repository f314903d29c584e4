// npb.lu: the model problem of fluid dynamics by symmetric successive over-relaxation.
#include <memory>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/common/outcome.hpp"
#include "npb/lu/classes.hpp"
#include "npb/lu/solver.hpp"

namespace assay::npb {
namespace {

class Lu : public Kernel {
 public:
  Lu(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kLuClasses, parameters.choice("class", "S", class_names(kLuClasses)))) {
    // One value of the forcing wrong by a thousandth; a coefficient of the sweeps by a millionth.
    fault_ = PlantedFault(parameters, {"forcing", "sweep"});
  }

  void setup() override {
    require_memory(context_, 1.0, lu_bytes_per_rank(problem_, context_.size, context_.threads),
                   "class " + std::string(problem_.name), "use a smaller class or more nodes");
    solver_ = std::make_unique<LuSolver>(problem_, context_.comm, context_.threads);
    solver_->set_up();
    if (fault_.is("forcing")) solver_->spoil_forcing();
    if (fault_.is("sweep")) solver_->spoil_sweep();
    Phases untimed({"", "", "", ""});
    solver_->run(1, untimed);  // the benchmark's untimed step
    phases_.report_to(context_);
  }

  void before_sample() override {
    check();
    solver_->restore();
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      solver_->run(problem_.steps, phases_);
      phases_.end_sample();
      unchecked_ = true;
    }
  }

  Verification verify() override {
    check();
    return error_.verdict("relative error of norms and surface integral", kLuTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    return {{"working_ranks", std::int64_t{solver_ ? solver_->working_ranks() : 0}}};
  }

 private:
  // Untimed, as official: error norms and surface integral of the last run.
  void check() {
    if (unchecked_) error_.add(solver_->greatest_error());
    unchecked_ = false;
  }

  Context context_;
  const LuClass& problem_;
  std::unique_ptr<LuSolver> solver_;
  Phases phases_{{"compute", "halo", "pipeline", "allreduce"}};
  WorstError error_;
  bool unchecked_ = false;
  PlantedFault fault_;
};

ASSAY_KERNEL("npb.lu", Lu);

}  // namespace
}  // namespace assay::npb
