// npb.cg: the smallest eigenvalue of a sparse matrix by the inverse power method.
#include <memory>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/cg/classes.hpp"
#include "npb/cg/solver.hpp"
#include "npb/common/outcome.hpp"

namespace assay::npb {
namespace {

class Cg : public Kernel {
 public:
  Cg(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kCgClasses, parameters.choice("class", "S", class_names(kCgClasses)))) {
    // One of the matrix's elements wrong by a millionth.
    if (PlantedFault(parameters, {"matrix"}).is("matrix")) factor_ = 1.000001;
  }

  void setup() override {
    require_memory(context_, 1.0, cg_bytes_per_rank(problem_, context_.size, context_.threads),
                   "the matrix of class " + std::string(problem_.name) + " and what it is built of",
                   "use a smaller class or more nodes");
    const std::size_t cache = context_.caches.last_level_node / context_.local_size;
    solver_ = make_cg_solver(problem_, context_.comm, context_.threads, cache, phases_);
    if (factor_ != 1.0) solver_->perturb(factor_);
    solver_->estimate(1);  // the benchmark's untimed iteration
    phases_.restart();
    phases_.report_to(context_);
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      last_ = solver_->estimate(problem_.iterations);
      phases_.end_sample();
      error_.add(relative_error(last_.zeta, problem_.zeta));
    }
  }

  Verification verify() override { return error_.verdict("relative error of zeta", kCgTolerance); }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    return {{"zeta", last_.zeta},
            {"residual", last_.residual},
            {"nonzeros_of_rank", solver_ ? solver_->nonzeros() : std::int64_t{0}}};
  }

 private:
  Context context_;
  const CgClass& problem_;
  double factor_ = 1.0;  // of the matrix's first element
  Phases phases_{{"compute", "allreduce", "allgatherv"}};
  std::unique_ptr<CgSolver> solver_;
  WorstError error_;
  Estimate last_;
};

ASSAY_KERNEL("npb.cg", Cg);

}  // namespace
}  // namespace assay::npb
