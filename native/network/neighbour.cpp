// network.neighbour: each rank exchanges a block with each of its neighbours in a grid, by a
// neighbourhood collective or by messages.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "network/collective_ops.hpp"
#include "network/grid_of_ranks.hpp"
#include "network/messages.hpp"
#include "network/mpi_four.hpp"
#include "network/rehearsal.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLargestBlock = std::int64_t{1} << 30;
// Rounds of the check after the timed operations, each with different contents.
constexpr std::size_t kMoreRounds = 2;

enum class Method { kCollective, kMessages, kPersistent, kPersistentCollective };

class Neighbourhood : public Kernel {
 public:
  Neighbourhood(const Context& context, Parameters& parameters) : context_(context) {
    const std::vector<std::string> methods{"collective", "messages", "persistent",
                                           "persistent_collective"};
    gathers_ = parameters.choice("op", "alltoall", {"alltoall", "allgather"}) == "allgather";
    const std::string method = parameters.choice("method", methods[0], methods);
    method_ =
        static_cast<Method>(std::find(methods.begin(), methods.end(), method) - methods.begin());
    bytes_ = static_cast<std::size_t>(parameters.integer("bytes", 8, 0, kLargestBlock));
    dimensions_ = static_cast<int>(parameters.integer("dimensions", 2, 1, 3));
    fault_ = PlantedFault(parameters, {"byte", "guard", "idle"});
    if (context.size < 2) throw KernelError("network.neighbour needs at least 2 ranks");
#if !defined(ASSAY_HAVE_MPI_4)
    if (method_ == Method::kPersistentCollective) throw_no_mpi_4("method = " + method);
#endif
  }
  ~Neighbourhood() override {
    close();
    if (grid_ != MPI_COMM_NULL) MPI_Comm_free(&grid_);
  }

  void setup() override {
    require_memory(
        context_, kPartForBuffers,
        static_cast<double>(blocks_out() * bytes_) + static_cast<double>(blocks() * bytes_),
        "buffers", "give a smaller number of 'bytes'");
    outgoing_ = Pages(blocks_out() * bytes_ + kGuard, Pages::Size::ordinary);
    incoming_ = Pages(blocks() * bytes_ + kGuard, Pages::Size::ordinary);
    make_grid();
    expected_ = rehearse(context_, bytes_, 1.0, [this](std::size_t part) {
      open(part);
      operate();
      close();
    });
    open(bytes_);
    prepare(0);
  }

  double expected_seconds() const override { return expected_; }

  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) operate();
    operations_ += count;
  }

  // Every byte that the timed operations left, and those of further operations with new contents.
  Verification verify() override {
    plant_damage();
    std::int64_t wrong = wrong_bytes(0);
    for (std::size_t round = 1; round <= kMoreRounds; ++round) {
      if (operations_ == 1 && !context_.deadline.allows(context_.comm, expected_)) break;
      prepare(round);
      if (!fault_.is("idle")) operate();
      wrong += wrong_bytes(round);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, on all ranks", static_cast<double>(wrong), 0.0};
  }

  std::int64_t max_batch() const override { return 1; }
  Start start() const override { return Start::kAppointed; }

 private:
  static constexpr std::size_t kGuard = 64;  // bytes after the buffer that must not change

  std::size_t blocks() const { return 2 * static_cast<std::size_t>(dimensions_); }
  std::size_t blocks_out() const { return gathers_ ? 1 : blocks(); }

  // Neighbours in the order of MPI: for each dimension first towards lower coordinates. A dimension
  // is periodic from three ranks on. Of two ranks each would be the other's neighbour twice, and
  // libraries disagree on which block is which.
  void make_grid() {
    const std::vector<int> extents = grid_extents(context_.size, dimensions_);
    std::vector<int> periodic;
    for (const int extent : extents) periodic.push_back(extent > 2 ? 1 : 0);
    check(MPI_Cart_create(context_.comm, dimensions_, extents.data(), periodic.data(), 0, &grid_));
    for (int dimension = 0; dimension < dimensions_; ++dimension) {
      int below = MPI_PROC_NULL;
      int above = MPI_PROC_NULL;
      check(MPI_Cart_shift(grid_, dimension, 1, &below, &above));
      neighbours_.push_back(below);
      neighbours_.push_back(above);
    }
  }

  void check(int failed) const {
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed in an exchange between neighbours");
  }

  unsigned char* out(std::size_t block, std::size_t size) const {
    return outgoing_.as<unsigned char>() + (gathers_ ? 0 : block) * size;
  }
  unsigned char* in(std::size_t block, std::size_t size) const {
    return incoming_.as<unsigned char>() + block * size;
  }

  // Prepares operations with blocks of that size.
  void open(std::size_t size) {
    opened_ = size;
    const int count = static_cast<int>(size);
    if (method_ == Method::kMessages) requests_.resize(2 * blocks(), MPI_REQUEST_NULL);
    if (method_ == Method::kPersistent) {
      for (std::size_t i = 0; i < blocks(); ++i) {
        check(MPI_Recv_init(in(i, size), count, MPI_BYTE, neighbours_[i], tag_to(i ^ 1), grid_,
                            &requests_.emplace_back()));
      }
      for (std::size_t i = 0; i < blocks(); ++i) {
        check(MPI_Send_init(out(i, size), count, MPI_BYTE, neighbours_[i], tag_to(i), grid_,
                            &requests_.emplace_back()));
      }
    }
#if defined(ASSAY_HAVE_MPI_4)
    if (method_ == Method::kPersistentCollective) {
      const auto begin = gathers_ ? MPI_Neighbor_allgather_init : MPI_Neighbor_alltoall_init;
      check(begin(out(0, size), count, MPI_BYTE, in(0, size), count, MPI_BYTE, grid_, MPI_INFO_NULL,
                  &requests_.emplace_back()));
    }
#endif
  }

  void close() {
    for (MPI_Request& request : requests_) {
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    requests_.clear();
  }

  // The tag of a block that is sent in that direction.
  static int tag_to(std::size_t direction) { return static_cast<int>(direction); }

  void operate() {
    const int count = static_cast<int>(opened_);
    int failed = MPI_SUCCESS;
    switch (method_) {
      case Method::kCollective:
        failed = (gathers_ ? MPI_Neighbor_allgather : MPI_Neighbor_alltoall)(
            out(0, opened_), count, MPI_BYTE, in(0, opened_), count, MPI_BYTE, grid_);
        break;
      case Method::kMessages:
        for (std::size_t i = 0; i < blocks(); ++i) {
          failed |= MPI_Irecv(in(i, opened_), count, MPI_BYTE, neighbours_[i], tag_to(i ^ 1), grid_,
                              &requests_[i]);
        }
        for (std::size_t i = 0; i < blocks(); ++i) {
          failed |= MPI_Isend(out(i, opened_), count, MPI_BYTE, neighbours_[i], tag_to(i), grid_,
                              &requests_[blocks() + i]);
        }
        failed |= wait();
        break;
      case Method::kPersistent:
      case Method::kPersistentCollective:
        failed = MPI_Startall(static_cast<int>(requests_.size()), requests_.data()) | wait();
        break;
    }
    check(failed);
  }

  int wait() {
    return MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

  // Fills both buffers: this rank's blocks of that round, and bytes that differ from the expected.
  void prepare(std::size_t round) {
    auto* const sent = outgoing_.as<unsigned char>();
    for (std::size_t i = 0; i < blocks_out() * bytes_; ++i) {
      sent[i] = byte_of(context_.rank, i, round);
    }
    each_expected(round, [this](std::size_t i, unsigned char expected, bool arrives) {
      incoming_.as<unsigned char>()[i] = arrives ? static_cast<unsigned char>(~expected) : expected;
    });
  }

  // Calls action(index, byte, whether a message brings it) for every byte of the incoming buffer
  // and its guard. No message comes from beyond the end of a dimension.
  template <typename Action>
  void each_expected(std::size_t round, Action action) const {
    for (std::size_t block = 0; block < blocks(); ++block) {
      const int source = neighbours_[block];
      // The neighbour sends it in the opposite direction.
      const std::size_t first = gathers_ ? 0 : (block ^ 1) * bytes_;
      for (std::size_t i = 0; i < bytes_; ++i) {
        const bool arrives = source != MPI_PROC_NULL;
        action(block * bytes_ + i, byte_of(arrives ? source : context_.size, first + i, round),
               arrives);
      }
    }
    const std::size_t end = blocks() * bytes_;
    for (std::size_t i = 0; i < kGuard; ++i) {
      action(end + i, byte_of(context_.size, end + i, round), false);
    }
  }

  std::int64_t wrong_bytes(std::size_t round) const {
    std::int64_t wrong = 0;
    each_expected(round, [&](std::size_t i, unsigned char expected, bool) {
      wrong += incoming_.as<unsigned char>()[i] != expected ? 1 : 0;
    });
    return wrong;
  }

  // A byte of this rank's result, or one after it.
  void plant_damage() {
    auto* const bytes = incoming_.as<unsigned char>();
    if (fault_.is("byte") && bytes_ > 0) bytes[bytes_ / 2] ^= 1;
    if (fault_.is("guard")) bytes[blocks() * bytes_] ^= 1;
  }

  Context context_;
  bool gathers_ = false;
  Method method_ = Method::kCollective;
  std::size_t bytes_ = 0;
  std::size_t opened_ = 0;  // bytes of a block of the next operation
  int dimensions_ = 2;
  MPI_Comm grid_ = MPI_COMM_NULL;
  std::vector<int> neighbours_;
  std::vector<MPI_Request> requests_;
  Pages outgoing_;
  Pages incoming_;
  double expected_ = 0.0;        // seconds of one operation, 0 if unknown
  std::int64_t operations_ = 0;  // timed ones
  PlantedFault fault_;
};

ASSAY_KERNEL("network.neighbour", Neighbourhood);

}  // namespace
}  // namespace assay
