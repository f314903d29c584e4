// npb.ep: 2^m pairs of random numbers, distributed evenly over all threads of all ranks.
#include <omp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "npb/common/outcome.hpp"
#include "npb/common/share.hpp"
#include "npb/ep/classes.hpp"
#include "npb/ep/gaussian.hpp"

namespace assay::npb {
namespace {

// Pairs are distributed in units of this many, a multiple of every vector's length.
constexpr std::uint64_t kPairsPerBlock = 1 << 10;
// A few milliseconds between progress reports.
constexpr std::uint64_t kBlocksBetweenReports = 1 << 12;

enum EpPhase : std::size_t { kEpCompute, kEpAllreduce };

class Ep : public Kernel {
 public:
  Ep(const Context& context, Parameters& parameters)
      : context_(context),
        problem_(find_class(kEpClasses, parameters.choice("class", "S", class_names(kEpClasses)))) {
    // A different seed: valid numbers, but wrong ones.
    if (PlantedFault(parameters, {"seed"}).is("seed")) seed_ += 2;
  }

  void setup() override { phases_.report_to(context_); }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      GaussianSums sums;
      phases_.in(kEpCompute, [&] { sums = this_rank(); });
      if (context_.size > 1) phases_.in(kEpAllreduce, [&] { sums = all_ranks(sums); });
      phases_.end_sample();
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

  std::vector<Series> series() const override { return phases_.series(context_.comm); }

  std::map<std::string, Value> facts() const override {
    return {{"accepted_pairs", static_cast<std::int64_t>(accepted_)}};
  }

 private:
  GaussianSums this_rank() {
    const std::uint64_t blocks = (std::uint64_t{1} << problem_.log2_pairs) / kPairsPerBlock;
    const Share mine = share_of({0, blocks}, context_.rank, context_.size);
    std::vector<GaussianSums> parts(context_.threads);
#pragma omp parallel for schedule(static, 1) num_threads(context_.threads)
    for (int part = 0; part < context_.threads; ++part) {
      const Share share = share_of(mine, part, context_.threads);
      for (std::uint64_t at = share.begin; at < share.end; at += kBlocksBetweenReports) {
        const std::uint64_t blocks = std::min(share.end - at, kBlocksBetweenReports);
        parts[part] += gaussian_pairs(seed_, at * kPairsPerBlock, blocks * kPairsPerBlock);
        const auto done = static_cast<double>(at + blocks - share.begin);
        if (part == 0) phases_.done(done / static_cast<double>(share.end - share.begin));
      }
    }
    GaussianSums sums;
    for (const GaussianSums& part : parts) sums += part;
    return sums;
  }

  // The counts are whole numbers below 2^53, so that they are reduced together with the sums as
  // doubles.
  GaussianSums all_ranks(const GaussianSums& mine) const {
    std::array<double, 2 + kAnnuli> numbers{mine.x, mine.y};
    std::copy(mine.counts.begin(), mine.counts.end(), numbers.begin() + 2);
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE,
                  MPI_SUM, context_.comm);
    GaussianSums sums;
    sums.x = numbers[0];
    sums.y = numbers[1];
    std::transform(numbers.begin() + 2, numbers.end(), sums.counts.begin(),
                   [](double count) { return static_cast<std::uint64_t>(count); });
    return sums;
  }

  Context context_;
  const EpClass& problem_;
  std::uint64_t seed_ = kEpSeed;
  Phases phases_{{"compute", "allreduce"}};
  WorstError error_;
  std::uint64_t accepted_ = 0;
};

ASSAY_KERNEL("npb.ep", Ep);

}  // namespace
}  // namespace assay::npb
