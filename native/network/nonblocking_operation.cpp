#include "network/nonblocking_operation.hpp"

#include <algorithm>

#include "network/collective_contents.hpp"
#include "network/collective_ops.hpp"
#include "network/messages.hpp"
#include "network/pairing.hpp"
#include "network/payload.hpp"

namespace assay {
namespace {

constexpr int kOverlapTag = 1;

// One message by MPI_Isend and MPI_Irecv: each rank of the first half and its partner in the
// second.
class PairOperation : public NonblockingOperation {
 public:
  enum class Way { kFirstSends, kSecondComputes, kBoth };

  PairOperation(const Context& context, std::size_t bytes, Way way)
      : context_(context),
        bytes_(bytes),
        partner_(partner_in_halves(context.rank, context.size)),
        sends_(way == Way::kBoth || context.rank < partner_),
        receives_(way == Way::kBoth || context.rank > partner_),
        computes_(way == Way::kBoth || (way == Way::kFirstSends ? sends_ : receives_)) {}

  void allocate() override { payload_.allocate(context_, bytes_); }

  std::size_t requests() const override { return (sends_ ? 1U : 0U) + (receives_ ? 1U : 0U); }
  bool computes() const override { return computes_; }

  int start(std::size_t bytes, MPI_Request* requests) override {
    const int count = static_cast<int>(bytes);
    int failed = MPI_SUCCESS;
    if (receives_) {
      failed |= MPI_Irecv(payload_.incoming(), count, MPI_BYTE, partner_, kOverlapTag,
                          context_.comm, requests++);
    }
    if (sends_) {
      failed |= MPI_Isend(payload_.outgoing(), count, MPI_BYTE, partner_, kOverlapTag,
                          context_.comm, requests);
    }
    return failed;
  }

  void prepare(std::size_t round) override {
    payload_.fill(key(context_.rank, round));
    payload_.spoil(key(partner_, round));
  }

  std::int64_t wrong_bytes(std::size_t round) const override {
    return receives_ ? payload_.wrong(key(partner_, round)) : 0;
  }

  void damage_byte() override {
    if (bytes_ > 0) payload_.incoming()[bytes_ / 2] ^= 1;
  }

 private:
  std::uint64_t key(int rank, std::size_t round) const {
    return round * static_cast<std::uint64_t>(context_.size) + static_cast<std::uint64_t>(rank);
  }

  Context context_;
  std::size_t bytes_;
  int partner_;
  bool sends_;
  bool receives_;
  bool computes_;
  Payload payload_;
};

using Starter = int (*)(const Shape&, const Buffers&, MPI_Comm, MPI_Request*);

int ibarrier(const Shape&, const Buffers&, MPI_Comm comm, MPI_Request* request) {
  return MPI_Ibarrier(comm, request);
}

int ibcast(const Shape& s, const Buffers& b, MPI_Comm comm, MPI_Request* request) {
  // MPI's single buffer is read at the root and written elsewhere.
  void* buffer = s.is_root() ? const_cast<unsigned char*>(b.out) : b.in;
  return MPI_Ibcast(buffer, static_cast<int>(s.bytes), MPI_BYTE, s.root, comm, request);
}

int ireduce(const Shape& s, const Buffers& b, MPI_Comm comm, MPI_Request* request) {
  const int terms = static_cast<int>(s.elements());
  return MPI_Ireduce(b.out, b.in, terms, MPI_DOUBLE, MPI_SUM, s.root, comm, request);
}

int iallreduce(const Shape& s, const Buffers& b, MPI_Comm comm, MPI_Request* request) {
  const int terms = static_cast<int>(s.elements());
  return MPI_Iallreduce(b.out, b.in, terms, MPI_DOUBLE, MPI_SUM, comm, request);
}

int iallgather(const Shape& s, const Buffers& b, MPI_Comm comm, MPI_Request* request) {
  const int count = static_cast<int>(s.bytes);
  return MPI_Iallgather(b.out, count, MPI_BYTE, b.in, count, MPI_BYTE, comm, request);
}

int ialltoall(const Shape& s, const Buffers& b, MPI_Comm comm, MPI_Request* request) {
  const int count = static_cast<int>(s.bytes);
  return MPI_Ialltoall(b.out, count, MPI_BYTE, b.in, count, MPI_BYTE, comm, request);
}

struct NonblockingCollective {
  const char* name;
  const char* blocking;  // the operation with the same result
  Starter start;
};

constexpr NonblockingCollective kCollectives[] = {
    {"ibarrier", "barrier", ibarrier},       {"ibcast", "bcast", ibcast},
    {"ireduce", "reduce", ireduce},          {"iallreduce", "allreduce", iallreduce},
    {"iallgather", "allgather", iallgather}, {"ialltoall", "alltoall", ialltoall},
};

const NonblockingCollective* find_nonblocking(const std::string& name) {
  const auto* found = std::find_if(std::begin(kCollectives), std::end(kCollectives),
                                   [&](const auto& each) { return each.name == name; });
  return found == std::end(kCollectives) ? nullptr : found;
}

class CollectiveOperation : public NonblockingOperation {
 public:
  CollectiveOperation(const Context& context, std::size_t bytes, const NonblockingCollective& op)
      : context_(context), op_(op), result_(find_collective(op.blocking)) {
    shape_.rank = context.rank;
    shape_.size = context.size;
    shape_.bytes = bytes;
  }

  void allocate() override {
    // The root's buffers, as they may be on any node.
    Shape root = shape_;
    root.rank = shape_.root;
    const double bytes = static_cast<double>(result_.gives(root) + result_.gets(root));
    require_memory(context_, kPartForBuffers, bytes, "buffers",
                   "give a smaller number of 'bytes', or use fewer ranks");
    contents_ = CollectiveContents(result_, shape_);
  }

  std::size_t requests() const override { return 1; }

  int start(std::size_t bytes, MPI_Request* requests) override {
    Shape shape = shape_;
    shape.bytes = bytes;
    return op_.start(shape, contents_.buffers(), context_.comm, requests);
  }

  void prepare(std::size_t round) override { contents_.prepare(round); }
  std::int64_t wrong_bytes(std::size_t round) const override {
    return contents_.wrong_bytes(round);
  }
  void damage_byte() override { contents_.damage_byte(); }

 private:
  Context context_;
  const NonblockingCollective& op_;
  const Collective& result_;
  Shape shape_;
  CollectiveContents contents_;
};

}  // namespace

std::vector<std::string> nonblocking_names() {
  std::vector<std::string> names{"exchange", "isend", "irecv"};
  for (const NonblockingCollective& each : kCollectives) names.emplace_back(each.name);
  return names;
}

bool is_ibarrier(const std::string& name) { return name == "ibarrier"; }

bool adds_up(const std::string& name) {
  const NonblockingCollective* const op = find_nonblocking(name);
  return op != nullptr && find_collective(op->blocking).reduces;
}

std::unique_ptr<NonblockingOperation> make_nonblocking(const std::string& name,
                                                       const Context& context, std::size_t bytes) {
  if (const NonblockingCollective* const op = find_nonblocking(name)) {
    return std::make_unique<CollectiveOperation>(context, bytes, *op);
  }
  if (context.size % 2 != 0) {
    throw KernelError(std::to_string(context.size) + " ranks can't be paired for '" + name +
                      "': use an even number");
  }
  const auto way = name == "isend"   ? PairOperation::Way::kFirstSends
                   : name == "irecv" ? PairOperation::Way::kSecondComputes
                                     : PairOperation::Way::kBoth;
  return std::make_unique<PairOperation>(context, bytes, way);
}

}  // namespace assay
