// The common part of npb.bt and npb.sp: everything except the systems along a line.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/adi/classes.hpp"
#include "npb/adi/solver.hpp"
#include "npb/common/code.hpp"
#include "npb/common/outcome.hpp"

namespace assay::npb {

// Tuned, Plain: the systems along a line in either code.
template <typename Tuned, typename Plain, const auto& kClasses>
class AdiKernel : public Kernel {
 public:
  AdiKernel(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kClasses, parameters.choice("class", "S", class_names(kClasses)))),
        code_(code_of(parameters)) {
    // One value of the initial field wrong by a millionth; one time step too few.
    fault_ = PlantedFault(parameters, {"field", "step"});
  }

  void setup() override {
    if (code_ == Code::kPlain) {
      make<Plain>();
    } else {
      make<Tuned>();
    }
    phases_.report_to(context_);
  }

  void before_sample() override {
    check();
    if (!warm_) {  // the benchmark's untimed step, once all ranks are set up
      Phases untimed({"", "", ""});
      solver_->restore();
      solver_->advance(1, untimed);
      warm_ = true;
    }
    solver_->restore();
    if (fault_.is("field")) solver_->perturb();
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      solver_->advance(problem_.steps - (fault_.is("step") ? 1 : 0), phases_);
      phases_.end_sample();
      unchecked_ = true;
    }
  }

  Verification verify() override {
    check();
    return error_.verdict("relative error of the norms", kAdiTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    const std::int64_t ranks = solver_ ? solver_->working_ranks() : 0;
    return {{"working_ranks", ranks}};
  }

 private:
  template <typename System>
  void make() {
    require_memory(
        context_, 1.0,
        cfd::Adi<System>::bytes_per_rank(problem_.points, context_.size, context_.threads),
        "class " + std::string(problem_.name), "use a smaller class or more nodes");
    solver_ = std::make_unique<cfd::Adi<System>>(problem_.points, problem_.time_step, context_.comm,
                                                 context_.threads);
  }

  // Checks the result of the last sample.
  void check() {
    if (!unchecked_) return;
    unchecked_ = false;
    const cfd::State error = solver_->error();
    const cfd::State residual = solver_->residual();
    for (std::size_t m = 0; m < error.size(); ++m) {
      error_.add(relative_error(error[m], problem_.error[m]));
      error_.add(relative_error(residual[m], problem_.residual[m]));
    }
  }

  Context context_;
  const AdiClass& problem_;
  const Code code_;
  std::unique_ptr<cfd::AdiSolver> solver_;
  Phases phases_{{"compute", "halo", "handover"}};
  WorstError error_;
  bool warm_ = false;
  bool unchecked_ = false;  // whether the last sample's result is still unchecked
  PlantedFault fault_;
};

}  // namespace assay::npb
