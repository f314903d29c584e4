// What npb.bt and npb.sp have in common, which is all but the systems along a line.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/adi_classes.hpp"
#include "npb/cfd/adi.hpp"
#include "npb/classes.hpp"
#include "npb/outcome.hpp"

namespace assay::npb {

template <typename System, const auto& kClasses>
class AdiKernel : public Kernel {
 public:
  AdiKernel(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kClasses, parameters.choice("class", "S", class_names(kClasses)))) {
#ifdef ASSAY_TEST_FAULTS
    // One value of the initial field, out by a millionth; one time step too few.
    fault_ = parameters.choice("fault", "none", {"none", "field", "step"});
#endif
  }

  void setup() override {
    require_memory(
        context_, 1.0,
        cfd::Adi<System>::bytes_per_rank(problem_.points, context_.size, context_.threads),
        "class " + std::string(problem_.name), "take a smaller class or more nodes");
    solver_ = std::make_unique<cfd::Adi<System>>(problem_.points, problem_.time_step, context_.comm,
                                                 context_.threads);
    phases_.report_to(context_);
  }

  void before_sample() override {
    check();
    if (!warm_) {  // the benchmark's untimed step, once all ranks have what they need
      Phases untimed({"", "", ""});
      solver_->restore();
      solver_->advance(1, untimed);
      warm_ = true;
    }
    solver_->restore();
#ifdef ASSAY_TEST_FAULTS
    if (fault_ == "field") solver_->perturb();
#endif
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
#ifdef ASSAY_TEST_FAULTS
      solver_->advance(problem_.steps - (fault_ == "step" ? 1 : 0), phases_);
#else
      solver_->advance(problem_.steps, phases_);
#endif
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
  // Of what the last sample left.
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
  std::unique_ptr<cfd::Adi<System>> solver_;
  Phases phases_{{"compute", "halo", "handover"}};
  WorstError error_;
  bool warm_ = false;
  bool unchecked_ = false;  // a sample's result
#ifdef ASSAY_TEST_FAULTS
  std::string fault_;
#endif
};

}  // namespace assay::npb
