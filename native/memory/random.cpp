// memory.random: reads and writes through an index array (Luecke, Li & Cuma 2005, section 4.2, test
// 2), and the updates of HPC Challenge's RandomAccess, in a table far larger than the caches.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/draws.hpp"
#include "memory/numa.hpp"
#include "memory/pages.hpp"
#include "memory/random_stream.hpp"
#include "memory/sizes.hpp"
#include "memory/stream_loops.hpp"

namespace assay {
namespace {

// With a table of k times the caches, one access in k still hits the caches.
constexpr std::size_t kAimedTimesCaches = 16;
constexpr std::size_t kFewestTimesCaches = 4;
constexpr std::size_t kEnoughBytes = std::size_t{2} << 30;
constexpr double kPartOfMemory = 0.5;
constexpr std::int64_t kMostElements = std::int64_t{1} << 32;  // indices have 32 bits
// A pass makes one access per this many elements: one per cache line on average, so that a repeated
// pass finds its lines evicted.
constexpr std::size_t kElementsPerAccess = 8;
// Passes of updates take this many successive parts of the stream before they start again.
constexpr std::size_t kParts = 8;

enum class Mode { kRead, kWrite, kUpdate };

class Random : public Kernel {
 public:
  Random(const Context& context, Parameters& parameters)
      : context_(context), parameters_(parameters) {
    const std::string mode = parameters.choice("mode", "update", {"read", "write", "update"});
    mode_ = mode == "read" ? Mode::kRead : mode == "write" ? Mode::kWrite : Mode::kUpdate;
    pages_ = parameters.choice("pages", "huge", {"huge", "small"}) == "huge" ? Pages::Size::huge
                                                                             : Pages::Size::small;
    const std::int64_t elements = parameters.integer("elements", 0);
    if (elements < 0 || elements == 1 || elements > kMostElements) {
      throw KernelError("parameter 'elements' must be 0, or between 2 and " +
                        std::to_string(kMostElements) + ", not " + std::to_string(elements));
    }
    if (mode_ == Mode::kUpdate && !std::has_single_bit(static_cast<std::uint64_t>(elements)) &&
        elements != 0) {
      throw KernelError("parameter 'elements' must be a power of two for updates, not " +
                        std::to_string(elements));
    }
    memory_node_ = read_memory_node(parameters, context_);
    elements_ = elements > 0 ? static_cast<std::size_t>(elements) : automatic_elements();
    fault_ = PlantedFault(parameters, {"value", "skip"});
  }

  ~Random() override { keep_as_spare(std::move(table_)); }
  Random(const Random&) = delete;
  Random& operator=(const Random&) = delete;

  void setup() override {
    elements_ = greatest_of_ranks(context_.comm, elements_);
    parameters_.resolve("elements", static_cast<std::int64_t>(elements_));
    accesses_ = std::max<std::size_t>(elements_ / kElementsPerAccess, 1);
    allocate();
    if (mode_ == Mode::kUpdate) {
      shift_ = random_access::shift_of(elements_);
      for (std::size_t i = 0; i < elements_; ++i) words_[i] = i;
      // Ranks take disjoint parts of the stream.
      const auto first = static_cast<std::uint64_t>(context_.rank) * kParts * accesses_;
      for (std::size_t k = 0; k < kParts; ++k) {
        starts_[k] = random_access::element(first + k * accesses_);
      }
      return;
    }
    for (std::size_t i = 0; i < elements_; ++i) numbers_[i] = stream::x_value(i);
    Draws draws = draws_of_rank(context_.seed, context_.rank);
    for (std::size_t k = 0; k < accesses_; ++k) {
      index_[k] = static_cast<std::uint32_t>(draws.below(elements_));
      expected_sum_ += stream::x_value(index_[k]);
    }
  }

  void run(std::int64_t count) override {
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t pass = passes_++;
      if (mode_ == Mode::kRead) {
        if (read() != expected_sum_) ++wrong_sums_;
      } else if (mode_ == Mode::kWrite) {
        write(written(pass));
      } else {
        update(starts_[static_cast<std::size_t>(pass) % kParts]);
      }
    }
  }

  std::int64_t max_batch() const override { return std::int64_t{1} << 20; }
  double operations_per_count() const override { return static_cast<double>(accesses_); }

  Verification verify() override {
    inject_fault();
    std::int64_t wrong = wrong_sums_;
    if (mode_ == Mode::kUpdate) wrong += wrong_after_undoing();
    if (mode_ == Mode::kWrite) wrong += wrong_after_restoring();
    if (mode_ == Mode::kRead) wrong += wrong_numbers();
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "wrong elements or sums after " + std::to_string(passes_) + " passes",
            static_cast<double>(wrong), 0.0};
  }

  std::map<std::string, Value> facts() const override {
    const double bytes = static_cast<double>(elements_ * kBytes) * context_.local_size;
    return {{"table_over_caches", bytes / static_cast<double>(node_caches(context_))},
            {"caches_known", std::int64_t{context_.caches.last_level_node > 0}},
            {"accesses_of_pass", static_cast<std::int64_t>(accesses_)},
            {"huge_page_share",
             static_cast<double>(table_.on_huge_pages()) / static_cast<double>(table_.bytes())},
            {"lies_on_node", std::int64_t{node_of_page(table_.as<char>())}}};
  }

 private:
  static constexpr std::size_t kBytes = 8;  // of an element

  std::size_t automatic_elements() const {
    const double affordable = memory_per_rank(context_, kPartOfMemory);
    const auto ranks = static_cast<std::size_t>(context_.local_size);
    for (std::size_t times = kAimedTimesCaches;; times /= 2) {
      const std::size_t share = std::min(times * node_caches(context_) / ranks, kEnoughBytes);
      const std::size_t elements = std::bit_ceil(std::max<std::size_t>(share / kBytes, 2));
      if (times == kFewestTimesCaches || bytes_for(elements) <= affordable) return elements;
    }
  }

  // Bytes of the table and the index array for that number of elements.
  double bytes_for(std::size_t elements) const {
    const double index = mode_ == Mode::kUpdate ? 0.0 : sizeof(std::uint32_t);
    return static_cast<double>(elements) * (kBytes + index / kElementsPerAccess);
  }

  void allocate() {
    require_memory(context_, kPartOfMemory, bytes_for(elements_),
                   "a table of " + std::to_string(elements_) + " elements and its indices",
                   "give a smaller number of 'elements'");
    table_ = take_spare_pages(elements_ * kBytes, pages_, memory_node_);
    words_ = table_.as<std::uint64_t>();
    numbers_ = table_.as<double>();
    if (mode_ == Mode::kUpdate) return;
    indices_ = Pages(accesses_ * sizeof(std::uint32_t), pages_, memory_node_);
    index_ = indices_.as<std::uint32_t>();
  }

  // The value that a pass writes. It differs from the value of the previous pass and from the
  // table's initial content.
  static double written(std::int64_t pass) { return -stream::scalar_of_pass(pass); }

  // Two sums, so that no addition waits for the one before it.
  double read() const {
    double even = 0.0;
    double odd = 0.0;
    for (std::size_t k = 0; k + 1 < accesses_; k += 2) {
      even += numbers_[index_[k]];
      odd += numbers_[index_[k + 1]];
    }
    if (accesses_ % 2 != 0) even += numbers_[index_[accesses_ - 1]];
    return even + odd;
  }

  void write(double value) {
    for (std::size_t k = 0; k < accesses_; ++k) numbers_[index_[k]] = value;
  }

  void update(std::uint64_t a) { random_access::update(words_, shift_, a, accesses_); }

  // Two equal updates cancel, so updates made an odd number of times are made once more.
  std::int64_t wrong_after_undoing() {
    const auto passes = static_cast<std::size_t>(passes_);
    for (std::size_t part = 0; part < kParts; ++part) {
      const std::size_t made = (passes + kParts - 1 - part) / kParts;
      if (made % 2 != 0) update(starts_[part]);
    }
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < elements_; ++i) wrong += words_[i] != i ? 1 : 0;
    return wrong;
  }

  // Every indexed element must hold the value that the last pass wrote; no other element may.
  std::int64_t wrong_after_restoring() {
    if (passes_ == 0) return 0;
    std::int64_t wrong = 0;
    const double value = written(passes_ - 1);
    for (std::size_t k = 0; k < accesses_; ++k) wrong += numbers_[index_[k]] != value ? 1 : 0;
    for (std::size_t k = 0; k < accesses_; ++k) numbers_[index_[k]] = stream::x_value(index_[k]);
    return wrong + wrong_numbers();
  }

  std::int64_t wrong_numbers() const {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < elements_; ++i) wrong += numbers_[i] != stream::x_value(i) ? 1 : 0;
    return wrong;
  }

  void inject_fault() {
    if (fault_.is("value")) words_[elements_ / 2] ^= 1;
    if (fault_.is("skip")) ++passes_;
  }

  Context context_;
  Parameters& parameters_;  // outlives the kernel; setup() resolves 0
  Mode mode_ = Mode::kUpdate;
  Pages::Size pages_ = Pages::Size::huge;
  int memory_node_ = Pages::kFirstTouch;
  std::size_t elements_ = 0;
  std::size_t accesses_ = 0;
  Pages table_;
  Pages indices_;
  std::uint64_t* words_ = nullptr;  // the table for updates
  double* numbers_ = nullptr;       // the table for reads and writes
  std::uint32_t* index_ = nullptr;
  int shift_ = 0;
  std::array<std::uint64_t, kParts> starts_{};
  double expected_sum_ = 0.0;
  std::int64_t passes_ = 0;
  std::int64_t wrong_sums_ = 0;
  PlantedFault fault_;
};

ASSAY_KERNEL("memory.random", Random);

}  // namespace
}  // namespace assay
