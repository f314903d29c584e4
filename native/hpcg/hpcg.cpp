// hpcg: conjugate gradients with a multigrid preconditioner by the rules of HPCG (Heroux, Dongarra
// & Luszczek, HPCG Technical Specification, SAND2013-8752; Dongarra, Heroux & Luszczek, IJHPCA 30,
// 2016). Own code: its results aren't official.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/phases.hpp"
#include "hpcg/checks.hpp"
#include "hpcg/fast.hpp"
#include "hpcg/gradients.hpp"
#include "hpcg/plain.hpp"
#include "memory/pages.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay::hpcg {
namespace {

// The coarsest grid has an eighth of the points of the finest along each axis.
constexpr std::int64_t kStep = 1 << (kLevels - 1);
constexpr std::int64_t kLongest = 1024;
// Iterations of the reference, and the most that another order of the sweeps may take.
constexpr int kReferenceIterations = 50;
constexpr int kMostIterations = 500;
// Each set is charged a tenth of the time for making the problem and its fast form.
constexpr double kChargedPart = 0.1;
// Bytes per point: of the fast form with its vectors, and when it is made from the plain one.
constexpr double kBytesPerPoint = 480.0;
constexpr double kPeakPerPoint = 760.0;
constexpr double kPartOfMemory = 0.9;
// A cube from which the pace of the reference iterations is taken.
constexpr std::int64_t kTrialEdge = 32;
constexpr int kTrialIterations = 3;
// With fewer rows per thread and step, waiting for each other costs threads more than the further
// iterations of a few colours.
constexpr double kRowsPerThread = 192.0;
// Sets must end at the same residual (SAND2013-8752, section 4).
constexpr double kSpread = 1e-6;

class Hpcg : public Kernel {
 public:
  Hpcg(const Context& context, Parameters& parameters)
      : context_(context),
        parameters_(parameters),
        size_{edge(parameters, "nx"), edge(parameters, "ny"), edge(parameters, "nz")},
        fill_(parameters.positive("fill", 0.25, 0.5)),
        limit_(parameters.positive("seconds", 20.0, 86'400.0)),
        order_(parameters.choice("sweep", "auto", {"auto", "levels", "colors"})),
        given_iterations_(parameters.integer("iterations", 0, 0, kMostIterations)) {
    if (size_[0] == 0 && (size_[1] != 0 || size_[2] != 0)) {
      throw KernelError("ny and nz need nx");
    }
    fault_ = PlantedFault(parameters, {"value", "halo", "sweep", "solution", "early"});
  }

  void setup() override {
    if (size_[0] == 0) choose_size();
    for (std::size_t axis = 1; axis < 3; ++axis) {
      if (size_[axis] == 0) size_[axis] = size_[0];
    }
    parameters_.resolve("nx", size_[0]);
    parameters_.resolve("ny", size_[1]);
    parameters_.resolve("nz", size_[2]);
    box_ = box_of(context_.rank, context_.size, size_);
    const auto points = static_cast<double>(box_.points());
    const double most = memory_per_rank(context_, kPartOfMemory) / kPeakPerPoint;
    require_memory(context_, kPartOfMemory, points * kPeakPerPoint,
                   "the matrices of " + shape() + " points per rank",
                   "a rank's grid can have at most " +
                       std::to_string(static_cast<std::int64_t>(std::cbrt(std::min(most, 1e15)))) +
                       " points along each axis");
    std::vector<PlainLevel> plain = make_problem();
    reference_ = reference(plain);
    make_fast(plain);
    tune();
  }

  double expected_seconds() const override {
    // The checks take about as long as 40 iterations.
    return set_seconds_ * (1.0 + 40.0 / iterations_);
  }

  void before_sample() override { phases_.restart(); }

  void run(std::int64_t count) override {
    for (; count > 0; --count) {
      const Ticks start = ticks();
      const int iterations = fault_.is("early") ? iterations_ - 5 : iterations_;
      last_ = solve({iterations, 0.0, true});
      phases_.end_sample();
      rated_.push_back(seconds(ticks() - start) + kChargedPart * (made_ + optimised_));
      least_ = std::min(least_, last_.scaled);
      most_ = std::max(most_, last_.scaled);
    }
  }

  Verification verify() override {
    const Setting in{context_.comm, box_, context_.threads, context_.seed};
    Checks checks;
    checks.add("residual beside the reference's", most_ / reference_);
    checks.add("differences between the residuals of the sets",
               (most_ - least_) / (kSpread * most_));
    Vectors& v = *vectors_;
    if (fault_.is("solution")) v.x[0] += 1e-9;
    check_residual(*fast_, v, last_, in, checks);
    check_row_sums(*fast_, v, in, checks);
    check_symmetry(*fast_, v, in, checks);
    check_spectrum(*fast_, v, untimed_, in, checks);
    return {.passed = checks.share() <= 1.0,
            .what = "the worst test as a share of its tolerance: " + checks.worst(),
            .value = checks.share(),
            .tolerance = 1.0};
  }

  std::int64_t max_batch() const override { return 1; }

  std::vector<Series> series() const override {
    std::vector<Series> all = phases_.series(context_.comm);
    if (context_.rank != 0) return all;
    Series cycle{"mg", "s", {}, {}, {}};
    for (const Series& each : all) {
      if (each.metric != "symgs" && each.metric != "transfer") continue;
      cycle.values.resize(each.values.size(), 0.0);
      for (std::size_t i = 0; i < each.values.size(); ++i) cycle.values[i] += each.values[i];
    }
    all.push_back(std::move(cycle));
    all.push_back({"rated", "s", {}, {}, rated_});
    return all;
  }

  std::map<std::string, Value> facts() const override {
    return {{"nx", size_[0]},
            {"ny", size_[1]},
            {"nz", size_[2]},
            {"npx", std::int64_t{box_.processes[0]}},
            {"npy", std::int64_t{box_.processes[1]}},
            {"npz", std::int64_t{box_.processes[2]}},
            {"sweep", order_},
            {"steps", fast_->steps()},
            {"iterations", std::int64_t{iterations_}},
            {"scaled_residual", last_.scaled},
            {"reference_residual", reference_},
            {"reference_seconds", reference_seconds_},
            {"setup_seconds", made_},
            {"optimisation_seconds", optimised_}};
  }

 private:
  static std::int64_t edge(Parameters& parameters, const std::string& name) {
    const std::int64_t value = parameters.integer(name, 0);
    if (value < 0 || value > kLongest || value % kStep != 0) {
      throw KernelError("parameter '" + name + "' must be a multiple of " + std::to_string(kStep) +
                        " from 0 to " + std::to_string(kLongest) + ", not " +
                        std::to_string(value));
    }
    return value;
  }

  std::string shape() const {
    return std::to_string(size_[0]) + " x " + std::to_string(size_[1]) + " x " +
           std::to_string(size_[2]);
  }

  double greatest(double value) const {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, context_.comm);
    return value;
  }

  // The largest cube that fits into the share of memory and whose reference iterations fit into the
  // time limit, by the pace of a small cube.
  void choose_size() {
    double bytes = memory_per_rank(context_, fill_);
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MIN, context_.comm);
    if (!(bytes < 0x1p62)) {
      throw KernelError("this system doesn't report its available memory; set nx");
    }
    box_ = box_of(context_.rank, context_.size, {kTrialEdge, kTrialEdge, kTrialEdge});
    std::vector<PlainLevel> plain = make_problem();
    const Ticks start = ticks();
    reference(plain, kTrialIterations);
    const double pace = greatest(seconds(ticks() - start)) /
                        (kTrialIterations * static_cast<double>(box_.points()));
    const double points = std::min(bytes / kBytesPerPoint, limit_ / (kReferenceIterations * pace));
    const auto along = static_cast<std::int64_t>(std::cbrt(points));
    size_[0] = std::clamp(along / kStep * kStep, kStep, kLongest);
    MPI_Bcast(&size_[0], 1, MPI_INT64_T, 0, context_.comm);
  }

  std::vector<PlainLevel> make_problem() {
    const Ticks start = ticks();
    std::vector<PlainLevel> plain = plain_levels(box_, context_.comm, context_.threads);
    made_ = greatest(seconds(ticks() - start));
    if (context_.threads > 1) {
      for (PlainLevel& level : plain) level.order = dependency_levels(level.a);
    }
    return plain;
  }

  // The scaled residual of the plain form after this many iterations.
  double reference(std::vector<PlainLevel>& plain, int iterations = kReferenceIterations) {
    PlainSystem system(plain, context_.threads);
    Vectors v(system, context_.threads);
    fill_right_side(box_, v.b.data());
    const Ticks start = ticks();
    const double scaled = conjugate_gradients(system, v, {iterations, 0.0, true}, untimed_,
                                              context_.threads, context_.comm)
                              .scaled;
    reference_seconds_ = greatest(seconds(ticks() - start));
    return scaled;
  }

  void make_fast(std::vector<PlainLevel>& plain) {
    const Ticks start = ticks();
    if (order_ != "colors") {
      for (PlainLevel& level : plain) level.order = dependency_levels(level.a);
    }
    if (order_ == "auto") {
      const Schedule& finest = plain[0].order;
      const double rows =
          static_cast<double>(finest.row.size()) / finest.steps() / context_.threads;
      order_ = context_.threads == 1 || rows >= kRowsPerThread ? "levels" : "colors";
    }
    if (order_ == "colors") {
      for (PlainLevel& level : plain) level.order = greedy_colors(level.a);
    }
    parameters_.resolve("sweep", order_);
    fast_ = std::make_unique<FastSystem>(plain, context_.threads, phases_, fault_);
    vectors_ = std::make_unique<Vectors>(*fast_, context_.threads);
    optimised_ = greatest(seconds(ticks() - start));
    std::vector<double> right(static_cast<std::size_t>(box_.points()));
    fill_right_side(box_, right.data());
    const SlicedMatrix& a = fast_->finest();
    for (std::size_t i = 0; i < right.size(); ++i) {
      vectors_->b[static_cast<std::size_t>(a.position[i])] = right[i];
    }
  }

  // The iterations that the fast form needs for the reference's residual.
  void tune() {
    const Ticks start = ticks();
    const Convergence found = solve({kMostIterations, reference_, true});
    set_seconds_ = greatest(seconds(ticks() - start));
    iterations_ = given_iterations_ > 0 ? static_cast<int>(given_iterations_) : found.iterations;
    parameters_.resolve("iterations", std::int64_t{iterations_});
  }

  Convergence solve(const Until& until) {
    return conjugate_gradients(*fast_, *vectors_, until, phases_, context_.threads, context_.comm);
  }

  Context context_;
  Parameters& parameters_;
  Triple size_;
  double fill_;
  double limit_;
  std::string order_;
  std::int64_t given_iterations_;
  PlantedFault fault_;
  Box box_;
  std::unique_ptr<FastSystem> fast_;
  std::unique_ptr<Vectors> vectors_;
  Phases phases_{{"spmv", "symgs", "transfer", "waxpby", "dot"}};
  Phases untimed_{{"spmv", "symgs", "transfer", "waxpby", "dot"}};
  int iterations_ = kReferenceIterations;
  double reference_ = 0.0;
  double reference_seconds_ = 0.0;
  double made_ = 0.0;       // seconds for the problem
  double optimised_ = 0.0;  // seconds for the fast form
  double set_seconds_ = 0.0;
  Convergence last_;
  double least_ = std::numeric_limits<double>::infinity();
  double most_ = 0.0;
  std::vector<double> rated_;
};

ASSAY_KERNEL("hpcg", Hpcg);

}  // namespace
}  // namespace assay::hpcg
