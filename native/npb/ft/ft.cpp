// npb.ft: a partial differential equation solved by three-dimensional Fourier transforms.
#include <memory>
#include <string>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/common/outcome.hpp"
#include "npb/ft/classes.hpp"
#include "npb/ft/plain.hpp"
#include "npb/ft/solver.hpp"

namespace assay::npb {
namespace {

class Ft : public Kernel {
 public:
  Ft(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kFtClasses, parameters.choice("class", "S", class_names(kFtClasses)))),
        code_(code_of(parameters)),
        grid_(ft_grid(problem_.extents, static_cast<std::uint64_t>(context.size))) {
    // A different initial state, in all samples or the first alone; or a diffusion that is a
    // ten-millionth too fast.
    fault_ = PlantedFault(parameters, {"seed", "first", "diffusion"});
    if (fault_.is("seed") || fault_.is("first")) seed_ += 2;
    if (fault_.is("diffusion")) alpha_ *= 1.0000001;
  }

  void setup() override {
    require_memory(context_, 1.0,
                   ft_bytes_per_rank(problem_, context_.size, context_.threads, code_),
                   "class " + std::string(problem_.name), "use a smaller class or more nodes");
    const std::size_t cache = context_.caches.last_level_node / context_.local_size;
    if (code_ == Code::kPlain) {
      solver_ = std::make_unique<PlainFt>(problem_, grid_, context_.comm, context_.threads);
    } else {
      solver_ = std::make_unique<FtSolver>(problem_, grid_, context_.comm, context_.threads, cache);
    }
    phases_.report_to(context_);
  }

  // As in the benchmark: a first untimed start touches all memory.
  void before_sample() override {
    if (touched_) return;
    Phases untimed({"", "", ""});
    solver_->start(seed_, untimed);
    solver_->state_at(1, alpha_, untimed);
    touched_ = true;
  }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      solver_->start(seed_, phases_);
      for (int t = 1; t <= problem_.iterations; ++t) {
        const std::complex<double> found = solver_->state_at(t, alpha_, phases_);
        const FtChecksum& official = problem_.checksums[static_cast<std::size_t>(t) - 1];
        const std::complex<double> expected(official.re, official.im);
        error_.add(std::abs((found - expected) / expected));
        phases_.done(t, problem_.iterations);
      }
      phases_.end_sample();
      if (fault_.is("first")) seed_ = kFtSeed;
    }
  }

  Verification verify() override {
    return error_.verdict("relative error of the checksums", kFtTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    return {{"working_ranks", static_cast<std::int64_t>(grid_.ranks())},
            {"cuts", std::to_string(grid_.across) + "x" + std::to_string(grid_.along)}};
  }

 private:
  Context context_;
  const FtClass& problem_;
  const Code code_;
  const FtGrid grid_;
  std::uint64_t seed_ = kFtSeed;
  double alpha_ = kFtAlpha;
  bool touched_ = false;
  std::unique_ptr<FtStates> solver_;
  Phases phases_{{"compute", "alltoallv", "allreduce"}};
  WorstError error_;
  PlantedFault fault_;
};

ASSAY_KERNEL("npb.ft", Ft);

}  // namespace
}  // namespace assay::npb
