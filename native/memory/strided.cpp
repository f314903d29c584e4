// memory.strided: every stride-th element of long arrays, with cold caches.
// Luecke, Li & Cuma (2005), section 4.2 and appendix 2.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/numa.hpp"
#include "memory/pages.hpp"
#include "memory/sizes.hpp"
#include "memory/strided_loops.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay {
namespace {

using strided::Operation;

constexpr std::int64_t kLargestStride = std::int64_t{1} << 20;
// In an array, a node's ranks touch cache lines of this many times its last-level caches, or fewer
// if the gaps between them would take too much memory.
constexpr std::size_t kAimedTimesCaches = 4;
constexpr std::size_t kFewestTimesCaches = 1;
// Upper limit of the bytes touched: a single core can't fill the caches of a large node.
constexpr std::size_t kEnoughBytesTouched = std::size_t{1} << 30;
constexpr std::size_t kElementsOfLine = 8;
// Bytes read to flush the caches, by all ranks of a node together, in units of the caches.
constexpr std::size_t kFlushTimesCaches = 2;
constexpr double kPartOfMemory = 0.5;
// The value in the gaps, and nowhere else.
constexpr double kGap = -1.0;

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const Operation& each : strided::operations()) names.emplace_back(each.name);
  return names;
}

const Operation& find_operation(const std::string& name) {
  for (const Operation& each : strided::operations()) {
    if (each.name == name) return each;
  }
  throw KernelError("there is no operation '" + name + "'");
}

class Strided : public Kernel {
 public:
  Strided(const Context& context, Parameters& parameters)
      : context_(context),
        parameters_(parameters),
        operation_(find_operation(parameters.choice("op", "read", operation_names()))) {
    const std::int64_t stride = parameters.integer("stride", 1, 1, kLargestStride);
    stride_ = static_cast<std::size_t>(stride);
    const std::int64_t elements = parameters.integer("elements", 0);
    if (elements < 0) throw KernelError("parameter 'elements' must not be negative");
    memory_node_ = read_memory_node(parameters, context_);
    elements_ = elements > 0 ? static_cast<std::size_t>(elements) : automatic_elements();
    fault_ = PlantedFault(parameters, {"value", "nan", "gap", "skip"});
  }

  ~Strided() override {
    for (Pages& each : memory_) keep_as_spare(std::move(each));
  }
  Strided(const Strided&) = delete;
  Strided& operator=(const Strided&) = delete;

  void setup() override {
    elements_ = greatest_of_ranks(context_.comm, elements_);
    parameters_.resolve("elements", static_cast<std::int64_t>(elements_));
    allocate();
    expected_sum_ = 0.0;
    for (std::size_t i = 0; i < elements_; ++i) expected_sum_ += stream::x_value(i * stride_);
    // Gaps are touched as well: they must exist and differ from the elements.
    const std::size_t length = elements_ * stride_;
    if (x_ != nullptr) fill(x_, length, stream::x_value);
    if (y_ != nullptr) fill(y_, length, stream::y_value);
    if (to_ != nullptr) std::fill(to_, to_ + length, kGap);
    std::fill(flush_, flush_ + flush_elements(), 1.0);
  }

  // The caches are flushed by reading: written lines would be written back during the timed pass.
  void before_sample() override {
    flushed_ = strided::operations()[0].unit(nullptr, flush_, nullptr, 0.0, flush_elements(), 1);
  }

  void run(std::int64_t count) override {
    const auto pass = stride_ == 1 ? operation_.unit : operation_.any;
    for (std::int64_t k = 0; k < count; ++k) {
      const double scalar = stream::scalar_of_pass(passes_++);
      const double sum = pass(to_, x_, y_, scalar, elements_, stride_);
      if (!operation_.writes && sum != expected_sum_) ++wrong_sums_;
    }
  }

  // One sample is one pass, because a second pass would find the first pass's data in the caches.
  std::int64_t max_batch() const override { return 1; }
  double operations_per_count() const override { return static_cast<double>(elements_); }

  // The sums of all passes are exact (see stream::pattern), and so must be the arrays that they
  // were read from. Writing passes must leave the result of the last one, with unchanged gaps, and
  // so must one more pass over NaN.
  Verification verify() override {
    inject_fault();
    if (flushed_ != 0.0 && flushed_ != static_cast<double>(flush_elements())) ++wrong_sums_;
    stream::Errors errors;
    if (operation_.writes) {
      add_errors(errors);
      for (std::size_t i = 0; i < elements_; ++i) to_[i * stride_] = std::nan("");
    }
    run(1);
    if (operation_.writes) {
      add_errors(errors);
    } else {  // a sum alone would miss errors lost in its rounding
      for (std::size_t at = 0; at < elements_ * stride_; ++at) {
        errors.add(x_[at], stream::x_value(at));
      }
    }
    errors.greatest += static_cast<double>(wrong_sums_);
    MPI_Allreduce(MPI_IN_PLACE, &errors.greatest, 1, MPI_DOUBLE, MPI_MAX, context_.comm);
    MPI_Allreduce(MPI_IN_PLACE, &errors.not_numbers, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    const double error =
        errors.not_numbers > 0 ? std::numeric_limits<double>::quiet_NaN() : errors.greatest;
    // As in memory.stream: two results differ by no more than 2 flops u, plus u for the second
    // order. Sums are exact.
    const double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
    const double tolerance = operation_.writes ? (2 * operation_.flops + 1) * unit_roundoff : 0.0;
    const char* const what = operation_.writes
                                 ? "greatest relative error of an element or gap after "
                                 : "wrong sums of ";
    return {error <= tolerance, what + std::to_string(passes_) + " passes", error, tolerance};
  }

  std::map<std::string, Value> facts() const override {
    const double touched = static_cast<double>(touched_bytes(elements_) *
                                               static_cast<std::size_t>(context_.local_size));
    return {{"touched_over_caches", touched / static_cast<double>(node_caches(context_))},
            {"caches_known", std::int64_t{context_.caches.last_level_node > 0}},
            {"lies_on_node", std::int64_t{node_of_page(memory_.front().as<double>())}}};
  }

 private:
  std::size_t arrays() const {
    return static_cast<std::size_t>(operation_.reads) + (operation_.writes ? 1 : 0);
  }

  // Bytes of the cache lines that hold this many elements, of one array and rank.
  std::size_t touched_bytes(std::size_t elements) const {
    return elements * sizeof(double) * std::min(stride_, kElementsOfLine);
  }

  std::size_t ranks_of_node() const { return static_cast<std::size_t>(context_.local_size); }

  std::size_t automatic_elements() const {
    const std::size_t bytes_of_element = touched_bytes(1);
    const double affordable = memory_per_rank(context_, kPartOfMemory) -
                              static_cast<double>(flush_elements() * sizeof(double));
    for (std::size_t times = kAimedTimesCaches;; times /= 2) {
      const std::size_t share = times * node_caches(context_) / ranks_of_node();
      const std::size_t elements =
          std::max<std::size_t>(std::min(share, kEnoughBytesTouched) / bytes_of_element, 1);
      // Three arrays, so that all operations use the same size.
      const double bytes = 3.0 * static_cast<double>(elements * stride_ * sizeof(double));
      if (times == kFewestTimesCaches || bytes <= affordable) return elements;
    }
  }

  std::size_t flush_elements() const {
    const std::size_t share = kFlushTimesCaches * node_caches(context_) / ranks_of_node();
    return std::min(std::max(share, 2 * context_.caches.l2), kEnoughBytesTouched) / sizeof(double);
  }

  void allocate() {
    const double length = static_cast<double>(elements_) * static_cast<double>(stride_);
    const double flush = static_cast<double>(flush_elements());
    const double bytes = (static_cast<double>(arrays()) * length + flush) * sizeof(double);
    require_memory(context_, kPartOfMemory, bytes,
                   std::to_string(arrays()) + " arrays of " + std::to_string(elements_) +
                       " elements at stride " + std::to_string(stride_) +
                       " and what flushes the caches",
                   "give a smaller number of 'elements' or a smaller 'stride'");
    const auto array = [&](std::size_t elements) {
      memory_.push_back(
          take_spare_pages(elements * sizeof(double), Pages::Size::huge, memory_node_));
      return memory_.back().as<double>();
    };
    if (operation_.writes) to_ = array(elements_ * stride_);
    if (operation_.reads > 0) x_ = array(elements_ * stride_);
    if (operation_.reads > 1) y_ = array(elements_ * stride_);
    flush_ = array(flush_elements());
  }

  template <class Of>
  static void fill(double* array, std::size_t length, const Of& of) {
    for (std::size_t i = 0; i < length; ++i) array[i] = of(i);
  }

  void add_errors(stream::Errors& errors) const {
    const double scalar = stream::scalar_of_pass(passes_ - 1);
    std::size_t at = 0;
    for (std::size_t i = 0; i < elements_; ++i) {
      const double expected = operation_.of(stream::x_value(at), stream::y_value(at), scalar);
      errors.add(to_[at], expected);
      for (++at; at < (i + 1) * stride_; ++at) errors.add(to_[at], kGap);
    }
  }

  void inject_fault() {
    const std::size_t at = elements_ / 2 * stride_;
    double* const array = operation_.writes ? to_ : x_;
    if (fault_.is("value")) array[at] *= 1.0 + 1e-14;
    if (fault_.is("nan")) array[at] = std::numeric_limits<double>::quiet_NaN();
    if (fault_.is("gap")) array[at + 1] = 0.0;
    if (fault_.is("skip")) ++passes_;
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0
  const Operation& operation_;
  std::size_t stride_ = 1;
  std::size_t elements_ = 0;
  int memory_node_ = Pages::kFirstTouch;
  std::vector<Pages> memory_;
  double* to_ = nullptr;
  double* x_ = nullptr;
  double* y_ = nullptr;
  double* flush_ = nullptr;
  double flushed_ = 0.0;
  double expected_sum_ = 0.0;
  std::int64_t passes_ = 0;
  std::int64_t wrong_sums_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.strided", Strided);

}  // namespace
}  // namespace assay
