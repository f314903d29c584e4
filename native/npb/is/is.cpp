// npb.is: the ranks of integer keys, in ten iterations.
#include <memory>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "memory/pages.hpp"
#include "npb/is/classes.hpp"
#include "npb/is/ranking.hpp"

namespace assay::npb {
namespace {

class Is : public Kernel {
 public:
  Is(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kIsClasses, parameters.choice("class", "S", class_names(kIsClasses)))),
        code_(code_of(parameters)) {
    // Different keys; or right keys with one wrong count at the end.
    fault_ = PlantedFault(parameters, {"seed", "count"});
    if constexpr (kTestFaults) most_ = parameters.integer("most", most_);
  }

  void setup() override {
    require_memory(context_, 1.0,
                   is_bytes_per_rank(problem_, context_.size, context_.threads, code_),
                   "class " + std::string(problem_.name), "use a smaller class or more nodes");
    ranking_ = std::make_unique<IsRanking>(problem_, context_.comm, context_.threads, code_, most_);
    ranking_->generate(fault_.is("seed") ? kIsSeed + 2 : kIsSeed);
    Phases untimed({"", "", "", ""});
    ranking_->rank_keys(1, untimed);  // the benchmark's untimed iteration
    phases_.report_to(context_);
  }

  void before_sample() override { ranking_->restore(); }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      for (int iteration = 1; iteration <= kIsIterations; ++iteration) {
        failed_ += ranking_->rank_keys(iteration, phases_);
        phases_.done(iteration, kIsIterations);
      }
      phases_.end_sample();
    }
  }

  Verification verify() override {
    if (fault_.is("count") && context_.rank == context_.size - 1) ranking_->spoil();
    std::int64_t failed = failed_;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    failed += ranking_->faults();
    return {failed == 0, "keys not ranked as they must be", static_cast<double>(failed), 0.0};
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

 private:
  Context context_;
  const IsClass& problem_;
  const Code code_;
  std::unique_ptr<IsRanking> ranking_;
  Phases phases_{{"compute", "allreduce", "alltoall", "alltoallv"}};
  std::int64_t failed_ = 0;
  std::int64_t most_ = IsRanking::kMost;
  PlantedFault fault_;
};

ASSAY_KERNEL("npb.is", Is);

}  // namespace
}  // namespace assay::npb
