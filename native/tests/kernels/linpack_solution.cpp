// test.linpack: the kernel's own system; its solution is a series.
#include <memory>

#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "linpack/choices.hpp"
#include "linpack/factor.hpp"
#include "linpack/residual.hpp"

namespace assay::linpack {
namespace {

// The series "solution" is x, "shares" the completed shares that the factorisation reported.
class Solution : public Kernel {
 public:
  Solution(const Context& context, Parameters& parameters)
      : context_(context), phases_(kPhaseNames) {
    settings_.n = parameters.integer("n", 1);
    settings_.nb = parameters.integer("nb", 1);
    settings_.p = static_cast<int>(parameters.integer("p", 1));
    settings_.broadcast =
        choice_of(kBroadcasts, parameters.choice("broadcast", "ring", names(kBroadcasts)));
    settings_.swap = choice_of(kSwaps, parameters.choice("swap", "auto", names(kSwaps)));
    settings_.depth = static_cast<int>(parameters.integer("depth", 1));
    settings_.matrix =
        choice_of(kMatrices, parameters.choice("matrix", "random", names(kMatrices)));
    settings_.seed = static_cast<std::uint64_t>(parameters.integer("seed", 1));
  }

  void setup() override {
    system_ = std::make_unique<LinearSystem>(context_.comm, settings_, context_.threads, memory_);
  }

  void before_sample() override { system_->make(); }

  void run(std::int64_t) override {
    shares_.clear();
    system_->solve(phases_, [this](double share) { shares_.push_back(share); });
  }

  Verification verify() override {
    solution_ = system_->solution();
    const double residual = system_->residual();
    return {residual <= kResidualTolerance, "residual", residual, kResidualTolerance};
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    if (context_.rank != 0) return {};
    return {{"solution", "1", {}, {}, solution_}, {"shares", "1", {}, {}, shares_}};
  }

 private:
  Context context_;
  Settings settings_;
  Phases phases_;
  Workspace memory_;
  std::unique_ptr<LinearSystem> system_;
  std::vector<double> solution_;
  std::vector<double> shares_;
};

ASSAY_KERNEL("test.linpack", Solution);

}  // namespace
}  // namespace assay::linpack
