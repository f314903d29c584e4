// network.collective: one collective operation of MPI over all ranks.
#include <mpi.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "harness/together.hpp"
#include "network/barrier_check.hpp"
#include "network/collective_contents.hpp"
#include "network/collective_ops.hpp"
#include "network/device_buffers.hpp"
#include "network/messages.hpp"
#include "network/persistent_collective.hpp"
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
    const double imbalance = op_.varies ? parameters.real("imbalance", 1.0) : 1.0;
    persistent_ = parameters.choice("call", "blocking", {"blocking", "persistent"}) == "persistent";
    if (persistent_) require_persistent(op_);
    memory_.emplace(context, parameters);
    parameters.resolve("bytes", bytes);
    check(bytes, root, imbalance);
    shape_ = with_blocks({context.rank,
                          context.size,
                          static_cast<int>(root),
                          static_cast<std::size_t>(bytes),
                          imbalance,
                          {}});
    fault_ = PlantedFault(parameters, {"byte", "guard", "idle"});
  }

  void setup() override {
    // The root's buffer, as it may be on any node.
    Shape root = shape_;
    root.rank = shape_.root;
    require_memory(context_, kPartForBuffers, static_cast<double>(op_.gives(root) + op_.gets(root)),
                   "buffers", "give a smaller number of 'bytes', or use fewer ranks");
    memory_->open(context_, true);
    together(context_, [&] { contents_ = CollectiveContents(op_, shape_, memory_->memory()); });
    expected_ = rehearse(context_, shape_.bytes, 1.0, [this](std::size_t part) { call(part); });
    contents_.prepare(0);
    if (persistent_) {
      request_.emplace();
      check_call(
          begin_persistent(op_, shape_, contents_.buffers(), context_.comm, &request_->handle));
    }
  }

  double expected_seconds() const override { return expected_; }

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) check_call(operate());
    operations_ += count;
  }

  // Checks every byte that the timed operations left, and then of further operations with new
  // contents. If there was only one timed operation, it has been checked completely. Further
  // operations are omitted if they would take too long.
  Verification verify() override {
    if (is_barrier()) return verify_barrier(context_, barrier_to_verify());
    inject_fault();
    std::int64_t wrong = contents_.wrong_bytes(0);
    for (std::size_t round = 1; round <= kRounds; ++round) {
      if (operations_ == 1 && !context_.deadline.allows(context_.comm, expected_)) break;
      contents_.prepare(round);
      if (!is_idle()) check_call(operate());
      wrong += contents_.wrong_bytes(round);
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
  std::map<std::string, Value> facts() const override { return memory_->facts(); }
  std::vector<std::string> device_addresses() const override { return memory_->addresses(); }

 private:
  int operate() {
    if (!request_) return op_.call(shape_, contents_.buffers(), context_.comm);
    return MPI_Start(&request_->handle) | MPI_Wait(&request_->handle, MPI_STATUS_IGNORE);
  }

  void check_call(int status) const {
    if (status != MPI_SUCCESS) throw KernelError(std::string("MPI failed in ") + op_.name);
  }

  // The operation with fewer bytes.
  void call(std::size_t bytes) const {
    Shape shape = shape_;
    shape.bytes = bytes;
    shape = with_blocks(std::move(shape));
    Buffers buffers = lists_of(op_, shape);
    buffers.out = contents_.buffers().out;
    buffers.in = contents_.buffers().in;
    check_call(op_.call(shape, buffers, context_.comm));
  }

  bool in_a_loop() const { return timing_ == "loop"; }
  bool is_barrier() const { return std::string(op_.name) == "barrier"; }

  void check(std::int64_t bytes, std::int64_t root, double imbalance) const {
    const std::string name = op_.name;
    if (context_.size < 2) throw KernelError("network.collective needs at least 2 ranks");
    if (bytes < 0 || bytes > kMostBytes) {
      throw KernelError("parameter 'bytes' must be between 0 and " + std::to_string(kMostBytes) +
                        ", not " + std::to_string(bytes));
    }
    if (is_barrier() && bytes > 0) throw KernelError("a barrier carries no bytes");
    if (is_barrier() && memory_->on_device()) {
      throw KernelError("a barrier carries no bytes, so that memory = device changes nothing");
    }
    if (op_.reduces && bytes % static_cast<std::int64_t>(sizeof(double)) != 0) {
      throw KernelError(name + " adds up doubles: 'bytes' must be a multiple of 8, not " +
                        std::to_string(bytes));
    }
    if (root < 0 || root >= context_.size) {
      throw KernelError("parameter 'root' is rank " + std::to_string(root) +
                        ", but the last rank is " + std::to_string(context_.size - 1));
    }
    if (!op_.rooted && root != 0) throw KernelError(name + " has no root");
    // Also refuses NaN.
    if (!(imbalance >= 1.0 && imbalance <= context_.size)) {
      throw KernelError("parameter 'imbalance' must be between 1 and the number of ranks, " +
                        std::to_string(context_.size));
    }
    // An all-to-all brings the rank with the largest blocks one from each rank.
    const double most = name == "alltoallv" ? imbalance : 1.0;
    if (op_.varies &&
        most * static_cast<double>(bytes * context_.size) > std::numeric_limits<int>::max()) {
      throw KernelError(
          name + " counts all bytes of a rank in an int of MPI: " + std::to_string(context_.size) +
          " times " + std::to_string(bytes) + " are too many");
    }
  }

  BarrierCall barrier_to_verify() const {
    if (is_idle()) return [](MPI_Comm) { return MPI_SUCCESS; };
    return [](MPI_Comm comm) { return MPI_Barrier(comm); };
  }

  // Whether the operations of the check are left out, on all ranks: a planted fault.
  bool is_idle() const { return fault_.is("idle"); }

  // Damages each rank's result: a byte of it, or one after it.
  void inject_fault() {
    if (fault_.is("byte")) contents_.damage_byte();
    if (fault_.is("guard")) contents_.damage_guard();
  }

  Context context_;
  const Collective& op_;
  std::string timing_;
  bool persistent_ = false;
  Shape shape_;
  std::optional<DeviceBuffers> memory_;
  CollectiveContents contents_;
  std::optional<PersistentRequest> request_;  // freed before the buffers
  double expected_ = 0.0;                     // seconds of one operation, 0 if unknown
  std::int64_t operations_ = 0;               // timed ones
  PlantedFault fault_;
};

ASSAY_KERNEL("network.collective", CollectiveKernel);

}  // namespace
}  // namespace assay
