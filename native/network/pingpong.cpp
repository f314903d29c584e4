// network.pingpong: a message to another rank and one of the same size back, over and over.
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness/kernel.hpp"
#include "memory/pages.hpp"

namespace assay {
namespace {

constexpr std::int64_t kLargestMessage = std::int64_t{1} << 30;
constexpr int kTag = 1;
// The buffers of a node's ranks may take this part of the memory available there.
constexpr double kPartOfMemory = 0.9;

// The byte at that index of the message with that key: differs between neighbouring keys, and
// between bytes a line or a page apart, so that misplaced pieces show.
unsigned char pattern(std::size_t index, std::size_t key) {
  return static_cast<unsigned char>(index * 31 + (index >> 6) * 7 + (index >> 12) * 13 + key * 101);
}

class PingPong : public Kernel {
 public:
  PingPong(const Context& context, Parameters& parameters) : context_(context) {
    const std::int64_t bytes = parameters.integer("bytes", 8);
    if (bytes < 0 || bytes > kLargestMessage) {
      throw KernelError("parameter 'bytes' must be between 0 and " +
                        std::to_string(kLargestMessage) + ", not " + std::to_string(bytes));
    }
    bytes_ = static_cast<std::size_t>(bytes);
    if (context.size < 2) throw KernelError("a ping-pong needs at least 2 ranks");
    const std::int64_t last = context.size - 1;
    const std::int64_t to = parameters.integer("to", -1);
    from_ = checked_rank("from", parameters.integer("from", 0));
    to_ = checked_rank("to", to == -1 ? last : to);
    parameters.resolve("to", std::int64_t{to_});
    if (from_ == to_) {
      throw KernelError("parameters 'from' and 'to' are both rank " + std::to_string(from_) +
                        ", but a ping-pong is between two");
    }
#ifdef ASSAY_TEST_FAULTS
    fault_ = parameters.choice("fault", "none", {"none", "byte", "short"});
#endif
  }

  // One buffer for what is sent and one for what is received, from a page boundary on. They start
  // on ordinary pages, as an application's would.
  void setup() override {
    if (!takes_part()) return;
    require_memory(context_, kPartOfMemory, 2.0 * static_cast<double>(bytes_), "two buffers",
                   "give a smaller number of 'bytes'");
    outgoing_memory_ = Pages(bytes_ + kGuard, Pages::Size::ordinary);
    incoming_memory_ = Pages(bytes_ + kGuard, Pages::Size::ordinary);
    outgoing_ = outgoing_memory_.as<unsigned char>();
    incoming_ = incoming_memory_.as<unsigned char>();
    prepare(0, bytes_);
  }

  void run(std::int64_t count) override {
    int failed = MPI_SUCCESS;
    if (context_.rank == from_) {
      for (std::int64_t k = 0; k < count; ++k) {
        failed |= send(bytes_, to_);
        failed |= receive(bytes_, to_, MPI_STATUS_IGNORE);
      }
    } else if (context_.rank == to_) {
      for (std::int64_t k = 0; k < count; ++k) {
        failed |= receive(bytes_, from_, MPI_STATUS_IGNORE);
        failed |= send(bytes_, from_);
      }
    }
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed to send or to receive a message");
  }

  // Every byte that the timed messages left, and then every byte of further messages of all powers
  // of two up to that size, each with a pattern of its own, at both ends.
  Verification verify() override {
    std::int64_t wrong = 0;
    if (takes_part()) {
      inject_fault();
      wrong += wrong_bytes(0, bytes_);
      std::size_t round = 1;
      for (const std::size_t size : sizes()) wrong += exchange(round++, size);
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, context_.comm);
    return {wrong == 0, "bytes wrong or missing, at both ends", static_cast<double>(wrong), 0.0};
  }

  double operations_per_count() const override { return 2.0; }
  Start start() const override { return Start::kFree; }
  bool times_here() const override { return context_.rank == from_; }

 private:
  static constexpr std::size_t kGuard = 64;  // bytes after the message that must stay as they are

  int checked_rank(const std::string& name, std::int64_t rank) const {
    if (rank >= 0 && rank < context_.size) return static_cast<int>(rank);
    throw KernelError("parameter '" + name + "' is rank " + std::to_string(rank) +
                      ", but the last rank is " + std::to_string(context_.size - 1));
  }

  bool takes_part() const { return context_.rank == from_ || context_.rank == to_; }
  int partner() const { return context_.rank == from_ ? to_ : from_; }

  int send(std::size_t size, int rank) const {
    return MPI_Send(outgoing_, static_cast<int>(size), MPI_BYTE, rank, kTag, context_.comm);
  }

  int receive(std::size_t size, int rank, MPI_Status* status) const {
    return MPI_Recv(incoming_, static_cast<int>(size), MPI_BYTE, rank, kTag, context_.comm, status);
  }

  // The two messages of a round have keys of their own.
  std::size_t outgoing_key(std::size_t round) const {
    return 2 * round + (context_.rank == from_ ? 0 : 1);
  }
  std::size_t incoming_key(std::size_t round) const {
    return 2 * round + (context_.rank == from_ ? 1 : 0);
  }

  // Fills both buffers as far as a message of that size and its guard reach; the incoming one with
  // bytes that differ from the message awaited.
  void prepare(std::size_t round, std::size_t size) {
    for (std::size_t i = 0; i < size + kGuard; ++i) {
      outgoing_[i] = pattern(i, outgoing_key(round));
      incoming_[i] = static_cast<unsigned char>(~pattern(i, incoming_key(round)));
    }
  }

  // Bytes that are not as the message of that round and size must have left them.
  std::int64_t wrong_bytes(std::size_t round, std::size_t size) const {
    std::int64_t wrong = 0;
    for (std::size_t i = 0; i < size + kGuard; ++i) {
      const unsigned char message = pattern(i, incoming_key(round));
      const auto expected = i < size ? message : static_cast<unsigned char>(~message);
      wrong += incoming_[i] != expected ? 1 : 0;
    }
    return wrong;
  }

  std::vector<std::size_t> sizes() const {
    std::vector<std::size_t> all{0};
    for (std::size_t size = 1; size < bytes_; size *= 2) all.push_back(size);
    all.push_back(bytes_);
    return all;
  }

  std::int64_t exchange(std::size_t round, std::size_t size) {
    prepare(round, size);
    MPI_Status status;
    int failed = MPI_SUCCESS;
    if (context_.rank == from_) failed |= send(sent_size(size), partner());
    failed |= receive(size, partner(), &status);
    if (context_.rank == to_) failed |= send(sent_size(size), partner());
    if (failed != MPI_SUCCESS) throw KernelError("MPI failed to send or to receive a message");
    int received = 0;
    MPI_Get_count(&status, MPI_BYTE, &received);
    const bool complete = static_cast<std::size_t>(received) == size;
    return wrong_bytes(round, size) + (complete ? 0 : 1);
  }

  std::size_t sent_size(std::size_t size) const {
#ifdef ASSAY_TEST_FAULTS
    if (fault_ == "short" && size > 0 && context_.rank == to_) return size - 1;
#endif
    return size;
  }

  void inject_fault() {
#ifdef ASSAY_TEST_FAULTS
    if (fault_ == "byte" && context_.rank == to_) incoming_[bytes_ / 2] ^= 1;
#endif
  }

  Context context_;
  std::size_t bytes_ = 0;
  int from_ = 0;
  int to_ = 0;
  Pages outgoing_memory_;
  Pages incoming_memory_;
  unsigned char* outgoing_ = nullptr;
  unsigned char* incoming_ = nullptr;
#ifdef ASSAY_TEST_FAULTS
  std::string fault_;
#endif
};

ASSAY_KERNEL("network.pingpong", PingPong);

}  // namespace
}  // namespace assay
