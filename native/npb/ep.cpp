// npb.ep: 2^m pairs of random numbers, shared evenly among all threads of all ranks.
#include <omp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/kernel.hpp"
#include "npb/classes.hpp"
#include "npb/gaussian.hpp"
#include "npb/outcome.hpp"
#include "npb/share.hpp"

namespace assay::npb {
namespace {

// Pairs are shared out by so many, a multiple of every vector's length.
constexpr std::uint64_t kPairsPerBlock = 1 << 10;

class Ep : public Kernel {
 public:
  Ep(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kEpClasses, parameters.choice("class", "S", class_names(kEpClasses)))) {
#ifdef ASSAY_TEST_FAULTS
    // Another seed of the same kind: numbers as good, and wrong ones.
    if (parameters.choice("fault", "none", {"none", "seed"}) == "seed") seed_ += 2;
#endif
  }

  void setup() override {}

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      const GaussianSums sums = all_ranks(this_rank());
      error_.add(
          std::max(relative_error(sums.x, problem_.sum_x), relative_error(sums.y, problem_.sum_y)));
      accepted_ = 0;
      for (const std::uint64_t pairs : sums.counts) accepted_ += pairs;
    }
  }

  Verification verify() override {
    return error_.verdict("relative error of the sums of the deviates", kEpTolerance);
  }

  std::int64_t max_batch() const override { return 1; }

  std::map<std::string, Value> facts() const override {
    return {{"accepted_pairs", static_cast<std::int64_t>(accepted_)}};
  }

 private:
  GaussianSums this_rank() const {
    const std::uint64_t blocks = (std::uint64_t{1} << problem_.log2_pairs) / kPairsPerBlock;
    const Share mine = share_of({0, blocks}, context_.rank, context_.size);
    std::vector<GaussianSums> parts(context_.threads);
#pragma omp parallel for schedule(static, 1) num_threads(context_.threads)
    for (int part = 0; part < context_.threads; ++part) {
      const Share share = share_of(mine, part, context_.threads);
      parts[part] = gaussian_pairs(seed_, share.begin * kPairsPerBlock,
                                   (share.end - share.begin) * kPairsPerBlock);
    }
    GaussianSums sums;
    for (const GaussianSums& part : parts) sums += part;
    return sums;
  }

  GaussianSums all_ranks(GaussianSums sums) const {
    std::array<double, 2> deviates{sums.x, sums.y};
    MPI_Allreduce(MPI_IN_PLACE, deviates.data(), 2, MPI_DOUBLE, MPI_SUM, context_.comm);
    MPI_Allreduce(MPI_IN_PLACE, sums.counts.data(), kAnnuli, MPI_UINT64_T, MPI_SUM, context_.comm);
    sums.x = deviates[0];
    sums.y = deviates[1];
    return sums;
  }

  Context context_;
  const EpClass& problem_;
  std::uint64_t seed_ = kEpSeed;
  WorstError error_;
  std::uint64_t accepted_ = 0;
};

ASSAY_KERNEL("npb.ep", Ep);

}  // namespace
}  // namespace assay::npb
