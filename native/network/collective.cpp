// network.collective: one collective operation of MPI over all ranks.
#include <mpi.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "network/barrier_check.hpp"
#include "network/collective_ops.hpp"
#include "network/messages.hpp"
#include "network/rehearsal.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
constexpr std::int64_t kUsualBytes = 8;
// Rounds of the check after the timed operations, each with different contents.
constexpr std::size_t kRounds = 2;

class CollectiveKernel : public Kernel {
 public:
  CollectiveKernel(const Context& context, Parameters& parameters)
      : context_(context),
        op_(find_collective(parameters.choice("op", "allreduce", collective_names()))),
        timing_(parameters.choice("timing", "appointed", {"appointed", "barrier", "loop"})) {
    const std::int64_t asked = parameters.integer("bytes", -1);
    const std::int64_t bytes = asked != -1 ? asked : is_barrier() ? 0 : kUsualBytes;
    const std::int64_t root = parameters.integer("root", 0);
    parameters.resolve("bytes", bytes);
    check(bytes, root);
    shape_ = {context.rank, context.size, static_cast<int>(root), static_cast<std::size_t>(bytes)};
    buffers_ = lists_of(op_, shape_);
    fault_ = PlantedFault(parameters, {"byte", "guard", "idle"});
  }

  void setup() override {
    // The root's buffer, as it may be on any node.
    const auto root = Shape{shape_.root, shape_.size, shape_.root, shape_.bytes};
    require_memory(context_, kPartForBuffers, static_cast<double>(op_.gives(root) + op_.gets(root)),
                   "buffers", "give a smaller number of 'bytes', or use fewer ranks");
    outgoing_ = Pages(op_.gives(shape_) + kGuard, Pages::Size::ordinary);
    incoming_ = Pages(op_.gets(shape_) + kGuard, Pages::Size::ordinary);
    buffers_.out = outgoing_.as<unsigned char>();
    buffers_.in = incoming_.as<unsigned char>();
    expected_ = rehearse(context_, shape_.bytes, 1.0, [this](std::size_t part) { call(part); });
    prepare(0);
  }

  double expected_seconds() const override { return expected_; }

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      check_call(op_.call(shape_, buffers_, context_.comm));
    }
    operations_ += count;
  }

  // Checks every byte that the timed operations left, and then of further operations with new
  // contents. If there was only one timed operation, it has been checked completely. Further
  // operations are omitted if they would take too long.
  Verification verify() override {
    if (is_barrier()) return verify_barrier(context_, barrier_to_verify());
    inject_fault();
    std::int64_t wrong = wrong_bytes(0);
    for (std::size_t round = 1; round <= kRounds; ++round) {
      if (operations_ == 1 && !context_.deadline.allows(context_.comm, expected_)) break;
      prepare(round);
      if (!is_idle()) check_call(op_.call(shape_, buffers_, context_.comm));
      wrong += wrong_bytes(round);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, on all ranks", static_cast<double>(wrong), 0.0};
  }

  // In a loop operations follow one another as in many benchmarks, and overlap as far as they can.
  std::int64_t max_batch() const override { return in_a_loop() ? std::int64_t{1} << 20 : 1; }
  Start start() const override {
    return timing_ == "appointed" ? Start::kAppointed : Start::kBarrier;
  }
  bool uses_global_clock() const override { return !in_a_loop(); }

 private:
  static constexpr std::size_t kGuard = 64;  // bytes after the buffer that must not change

  void check_call(int status) const {
    if (status != MPI_SUCCESS) throw KernelError(std::string("MPI failed in ") + op_.name);
  }

  // The operation with fewer bytes.
  void call(std::size_t bytes) const {
    Shape shape = shape_;
    shape.bytes = bytes;
    Buffers buffers = lists_of(op_, shape);
    buffers.out = buffers_.out;
    buffers.in = buffers_.in;
    check_call(op_.call(shape, buffers, context_.comm));
  }

  bool in_a_loop() const { return timing_ == "loop"; }
  bool is_barrier() const { return std::string(op_.name) == "barrier"; }

  void check(std::int64_t bytes, std::int64_t root) const {
    const std::string name = op_.name;
    if (context_.size < 2) throw KernelError("network.collective needs at least 2 ranks");
    if (bytes < 0 || bytes > kMostBytes) {
      throw KernelError("parameter 'bytes' must be between 0 and " + std::to_string(kMostBytes) +
                        ", not " + std::to_string(bytes));
    }
    if (is_barrier() && bytes > 0) throw KernelError("a barrier carries no bytes");
    if (op_.reduces && bytes % static_cast<std::int64_t>(sizeof(double)) != 0) {
      throw KernelError(name + " adds up doubles: 'bytes' must be a multiple of 8, not " +
                        std::to_string(bytes));
    }
    if (root < 0 || root >= context_.size) {
      throw KernelError("parameter 'root' is rank " + std::to_string(root) +
                        ", but the last rank is " + std::to_string(context_.size - 1));
    }
    if (!op_.rooted && root != 0) throw KernelError(name + " has no root");
    if (name == "alltoallv" && bytes * context_.size > std::numeric_limits<int>::max()) {
      throw KernelError("alltoallv counts all bytes of a rank in an int of MPI: " +
                        std::to_string(context_.size) + " times " + std::to_string(bytes) +
                        " are too many");
    }
  }

  // Fills both buffers: this rank's contribution in that round, and bytes that differ from the
  // expected result.
  void prepare(std::size_t round) {
    auto* out = outgoing_.as<unsigned char>();
    const std::size_t gives = op_.gives(shape_);
    if (op_.reduces) {
      for (std::size_t i = 0; i < gives / sizeof(double); ++i) {
        const double term = term_of(shape_.rank, i, round);
        std::memcpy(out + i * sizeof term, &term, sizeof term);
      }
    } else {
      for (std::size_t i = 0; i < gives; ++i) out[i] = byte_of(shape_.rank, i, round);
    }
    each_expected(round, [this](std::size_t i, unsigned char expected) {
      buffers_.in[i] = static_cast<unsigned char>(~expected);
    });
    std::fill_n(buffers_.in + op_.gets(shape_), kGuard, guard(round));
  }

  // Calls action(index, byte) for every byte that this rank must receive in that round.
  template <typename Action>
  void each_expected(std::size_t round, Action action) const {
    const std::size_t gets = op_.gets(shape_);
    if (!op_.reduces) {
      for (std::size_t i = 0; i < gets; ++i) {
        const Origin origin = op_.origin(shape_, i);
        action(i, byte_of(origin.source, origin.index, round));
      }
      return;
    }
    unsigned char bytes[sizeof(double)];
    for (std::size_t i = 0; i < gets; i += sizeof(double)) {
      const std::size_t element = op_.origin(shape_, i).index / sizeof(double);
      const double sum = sum_of(shape_.size, element, round);
      std::memcpy(bytes, &sum, sizeof sum);
      for (std::size_t k = 0; k < sizeof sum; ++k) action(i + k, bytes[k]);
    }
  }

  static unsigned char guard(std::size_t round) { return static_cast<unsigned char>(0xA5 + round); }

  std::int64_t wrong_bytes(std::size_t round) const {
    std::int64_t wrong = 0;
    each_expected(round, [&](std::size_t i, unsigned char expected) {
      wrong += buffers_.in[i] != expected ? 1 : 0;
    });
    const unsigned char* end = buffers_.in + op_.gets(shape_);
    wrong += std::count_if(end, end + kGuard, [&](unsigned char c) { return c != guard(round); });
    return wrong;
  }

  BarrierCall barrier_to_verify() const {
    if (is_idle()) return [](MPI_Comm) { return MPI_SUCCESS; };
    return [](MPI_Comm comm) { return MPI_Barrier(comm); };
  }

  // Whether the operations of the check are left out, on all ranks: a planted fault.
  bool is_idle() const { return fault_.is("idle"); }

  // Damages each rank's result: a byte of it, or one after it.
  void inject_fault() {
    const std::size_t gets = op_.gets(shape_);
    if (fault_.is("byte") && gets > 0) buffers_.in[gets / 2] ^= 1;
    if (fault_.is("guard") && gets > 0) buffers_.in[gets] ^= 1;
  }

  Context context_;
  const Collective& op_;
  std::string timing_;
  Shape shape_;
  Buffers buffers_;
  Pages outgoing_;
  Pages incoming_;
  double expected_ = 0.0;        // seconds of one operation, 0 if unknown
  std::int64_t operations_ = 0;  // timed ones
  PlantedFault fault_;
};

ASSAY_KERNEL("network.collective", CollectiveKernel);

}  // namespace
}  // namespace assay
