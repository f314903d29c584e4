// memory.stream: McCalpin's STREAM, one operation per measurement, over ranks and OpenMP threads.
#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/numa.hpp"
#include "memory/pages.hpp"
#include "memory/sizes.hpp"
#include "memory/stream_loops.hpp"
#include "memory/stream_sizes.hpp"

#ifdef __FAST_MATH__
#error "with -ffast-math a NaN would pass verification"
#endif

namespace assay {
namespace {

using stream::Operation;
using stream::Variant;

using stream::kChunkElements;
using stream::kPartOfMemory;

// Rounds in which `stores = auto` tries each variant; the best of each counts.
constexpr int kTrialRounds = 3;

const Operation& find_operation(const std::string& name) {
  for (const Operation& each : stream::operations()) {
    if (each.name == name) return each;
  }
  throw KernelError("there is no operation '" + name + "'");
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const Operation& each : stream::operations()) names.emplace_back(each.name);
  return names;
}

class Stream : public Kernel {
 public:
  Stream(const Context& context, Parameters& parameters)
      : context_(context),
        parameters_(parameters),
        operation_(find_operation(parameters.choice("op", "triad", operation_names()))),
        stores_(parameters.choice("stores", "auto", {"auto", "ordinary", "nontemporal"})) {
    const std::int64_t elements = parameters.integer("elements", 0);
    if (elements < 0) throw KernelError("parameter 'elements' must not be negative");
    memory_node_ = read_memory_node(parameters, context_);
    elements_ = elements > 0 ? static_cast<std::size_t>(elements)
                             : stream::automatic_elements(context_, context_.threads);
    fault_ = PlantedFault(parameters, {"value", "nan", "skip"});
  }

  ~Stream() override {
    for (Pages& each : memory_) keep_as_spare(std::move(each));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void setup() override {
    elements_ = greatest_of_ranks(context_.comm, elements_);
    parameters_.resolve("elements", static_cast<std::int64_t>(elements_));
    if (!allocate_everywhere()) return;
    for_my_part([&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) x_[i] = stream::x_value(i);
      if (y_ == nullptr) return;
      for (std::size_t i = begin; i < end; ++i) y_[i] = stream::y_value(i);
    });
    choose_variant();
    parameters_.resolve("stores", std::string(variant_->stores));
  }

  void run(std::int64_t count) override {
    for_my_part([&](std::size_t begin, std::size_t end) {
      const double* const y = y_ == nullptr ? nullptr : y_ + begin;
      for (std::int64_t k = 0; k < count; ++k) {
        variant_->pass(to_ + begin, x_ + begin, y, stream::scalar_of_pass(passes_ + k),
                       end - begin);
        if (k + 1 < count) {
#pragma omp barrier
        }
      }
    });
    passes_ += count;
  }

  // The timed passes must leave the result of the last one, and one more pass over a
  // destination filled with NaN must write every element.
  Verification verify() override {
    inject_fault();
    stream::Errors errors;
    add_errors(errors);
    fill_destination(std::numeric_limits<double>::quiet_NaN());
    run(1);
    add_errors(errors);
    MPI_Allreduce(MPI_IN_PLACE, &errors.greatest, 1, MPI_DOUBLE, MPI_MAX, context_.comm);
    MPI_Allreduce(MPI_IN_PLACE, &errors.not_numbers, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    const double error =
        errors.not_numbers > 0 ? std::numeric_limits<double>::quiet_NaN() : errors.greatest;

    // Result and expected value round once per flop: each is within (1 +- u)^flops of the exact
    // value (all numbers are positive, nothing cancels), so that they differ by no more than 2
    // flops u + O(u^2). A further u covers the second order, and is too small to hide an error.
    const double unit_roundoff = std::numeric_limits<double>::epsilon() / 2;
    const double tolerance = (2 * operation_.flops + 1) * unit_roundoff;
    return {error <= tolerance,
            "greatest relative error of an element after " + std::to_string(passes_) + " passes",
            error, tolerance};
  }

  std::map<std::string, Value> facts() const override {
    const double bytes = static_cast<double>(node_bytes_of_an_array());
    std::size_t mapped = 0;
    std::size_t huge = 0;
    for (const Pages& each : memory_) {
      mapped += each.bytes();
      huge += each.on_huge_pages();
    }
    return {{"stores", std::string(variant_->stores)},
            {"vector_bits", std::int64_t{variant_->vector_bits}},
            {"array_over_caches", bytes / static_cast<double>(node_caches(context_))},
            {"caches_known", std::int64_t{context_.caches.last_level_node > 0}},
            {"huge_page_share", static_cast<double>(huge) / static_cast<double>(mapped)},
            {"lies_on_node", std::int64_t{node_of_page(to_)}}};
  }

 private:
  int arrays() const { return 1 + operation_.reads; }

  std::size_t node_bytes_of_an_array() const {
    return elements_ * sizeof(double) * static_cast<std::size_t>(context_.local_size);
  }

  void check_memory() const {
    const double bytes_per_element = static_cast<double>(sizeof(double)) * arrays();
    const double most = memory_per_rank(context_, kPartOfMemory) / bytes_per_element;
    require_memory(
        context_, kPartOfMemory, static_cast<double>(elements_) * bytes_per_element,
        std::to_string(arrays()) + " arrays of " + std::to_string(elements_) + " elements",
        "elements can be at most " + std::to_string(std::llround(std::floor(most))));
  }

  // Throws if it fails on this rank; false if it failed only on another rank. In both cases all
  // ranks know, so none waits for another.
  bool allocate_everywhere() {
    std::exception_ptr error;
    try {
      allocate();
    } catch (...) {
      error = std::current_exception();
    }
    int failed = error ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, context_.comm);
    if (error) std::rethrow_exception(error);
    return failed == 0;
  }

  void allocate() {
    check_memory();
    for (int k = 0; k < arrays(); ++k) {
      memory_.push_back(
          take_spare_pages(elements_ * sizeof(double), Pages::Size::huge, memory_node_));
    }
    to_ = memory_[0].as<double>();
    x_ = memory_[1].as<double>();
    if (operation_.reads == 2) y_ = memory_[2].as<double>();
  }

  // Calls part(begin, end) on every thread with its part of the arrays, always the same: a thread
  // works on the pages that it first touched.
  template <class Part>
  void for_my_part(const Part& part) const {
#pragma omp parallel num_threads(context_.threads)
    {
      const auto threads = static_cast<std::size_t>(omp_get_num_threads());
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      const std::size_t share =
          (elements_ + threads * kChunkElements - 1) / (threads * kChunkElements) * kChunkElements;
      part(std::min(elements_, thread * share), std::min(elements_, (thread + 1) * share));
    }
  }

  void choose_variant() {
    std::vector<const Variant*> candidates;
    for (const Variant& each : operation_.variants) {
      if (stores_ == "auto" || stores_ == each.stores) candidates.push_back(&each);
    }
    if (candidates.empty()) {
      throw KernelError("the kernels were built for a processor without non-temporal stores");
    }
    variant_ = candidates.front();
    run(1);  // first touch of the destination by its owners
    if (candidates.size() == 1) return;

    std::vector<double> best(candidates.size(), std::numeric_limits<double>::infinity());
    for (int round = 0; round < kTrialRounds; ++round) {
      for (std::size_t k = 0; k < candidates.size(); ++k) {
        variant_ = candidates[k];
        best[k] = std::min(best[k], seconds_of_a_pass());
      }
    }
    MPI_Bcast(best.data(), static_cast<int>(best.size()), MPI_DOUBLE, 0, context_.comm);
    const auto fastest = std::min_element(best.begin(), best.end()) - best.begin();
    variant_ = candidates[static_cast<std::size_t>(fastest)];
  }

  // The maximum over the ranks.
  double seconds_of_a_pass() {
    MPI_Barrier(context_.comm);
    const auto start = std::chrono::steady_clock::now();
    run(1);
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, context_.comm);
    return seconds;
  }

  void fill_destination(double value) {
    for_my_part(
        [&](std::size_t begin, std::size_t end) { std::fill(to_ + begin, to_ + end, value); });
  }

  // Compares this rank's destination with the expected result of the last pass.
  void add_errors(stream::Errors& errors) const {
    const double scalar = stream::scalar_of_pass(passes_ - 1);
    for_my_part([&](std::size_t begin, std::size_t end) {
      const stream::Errors mine = operation_.check(to_ + begin, begin, end - begin, scalar);
#pragma omp critical
      {
        errors.greatest = std::max(errors.greatest, mine.greatest);
        errors.not_numbers += mine.not_numbers;
      }
    });
  }

  void inject_fault() {
    const std::size_t at = elements_ / 2;
    if (fault_.is("value")) to_[at] *= 1.0 + 1e-14;
    if (fault_.is("nan")) to_[at] = std::numeric_limits<double>::quiet_NaN();
    if (fault_.is("skip")) ++passes_;
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves "auto" and 0
  const Operation& operation_;
  std::string stores_;
  std::size_t elements_ = 0;
  int memory_node_ = Pages::kFirstTouch;
  std::vector<Pages> memory_;
  double* to_ = nullptr;
  double* x_ = nullptr;
  double* y_ = nullptr;
  const Variant* variant_ = nullptr;
  std::int64_t passes_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.stream", Stream);

}  // namespace
}  // namespace assay
