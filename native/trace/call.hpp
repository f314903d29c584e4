// One call of an MPI function by the program. A wrapper creates a Call, passes it the facts of the
// table, calls the next function, and passes it the result. Calls within a call aren't counted:
// MPI's Fortran functions and other tools call further MPI functions.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "device_memory.hpp"
#include "events/tracer.hpp"
#include "next.hpp"
#include "profile.hpp"
#include "store.hpp"

namespace assay::trace {

template <class Handle>
std::uint64_t number(Handle handle) {
  static_assert(sizeof(Handle) <= sizeof(std::uint64_t));
  return (std::uint64_t)handle;  // an integer in MPICH, an address in Open MPI
}

class Call {
 public:
  // `site`: to which the wrapper returns; `frame`: the wrapper's own.
  Call(std::int32_t function, void* site, void* frame) noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The time that this library takes for a small send whose data the program has pushed out of the
  // first caches, ns: the median of 15, measured in some milliseconds before any call is counted.
  // `traced`: with the coding of its event. `site`: from which MPI was started: finding a line of
  // Python takes longer than an address.
  static std::uint64_t cost(bool traced, void* site) noexcept;

  // Whether the calling thread is in a call. Safe in handlers of signals.
  static bool is_inside() noexcept;

  // Whether the call is counted, and whether it's the program's own.
  [[nodiscard]] bool counted() const { return counted_; }
  [[nodiscard]] bool outermost() const { return outermost_; }

  void begin() noexcept;  // just before the function
  void end() noexcept;    // just after it

  // ---- What was sent: methods that functions.txt names ----
  void none() { silent_ = true; }
  void bytes(std::int64_t bytes) { bytes_ = bytes; }
  // The buffer of these bytes; `other`: the one that has them if `buffer` is MPI_IN_PLACE.
  void buffer(const void* buffer, const void* other = nullptr) {
    buffer_ = buffer == MPI_IN_PLACE ? other : buffer;
  }
  template <class Count>
  void send(Count count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    from(to, comm);
    trace_.tag = tag;
    if (peer_ == kNull) return;
    bytes_ = size(count, type);
    trace_.sent = bytes_;
    sent_ = true;
  }
  template <class Count>
  void receive(Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm) {
    from(source, comm);
    if (peer_ != kNull) bytes_ = size(count, type);
    if (traced_) expect(peer_, tag, bytes_, false);
  }
  // The receiving half of a call that sends, too.
  template <class Count>
  void receive_half(Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm) {
    if (traced_) expect(world_rank(source, comm), tag, size(count, type), true);
  }
  void from(int rank, MPI_Comm comm) { peer_ = world_rank(rank, comm); }
  void from(int rank, int tag, MPI_Comm comm) {
    from(rank, comm);
    trace_.tag = tag == MPI_ANY_TAG ? -1 : tag;
  }
  // An exchange with a count (and a type) per rank: bytes to the other ranks, also counted as
  // theirs.
  template <class Count, class Type>
  void exchange(const Count* counts, Type types, MPI_Comm comm) {
    const int self = own(comm), all = ranks(comm);
    for (int rank = 0; rank < all; ++rank) {
      if (rank != self) part(size(counts[rank], type_of(types, rank)), rank, comm);
    }
  }

  // ---- For the trace ----
  void on(MPI_Comm comm) {
    trace_.comm = number(comm);
    current_comm_ = comm;
  }
  // A collective that no rank leaves before all have entered it.
  void everybody(MPI_Comm comm) { trace_.everybody = comm == MPI_COMM_WORLD; }
  void on_object(std::uint64_t handle) { trace_.comm = object(handle); }
  void rooted(int root, MPI_Comm comm) {
    if (!traced_) return;
    trace_.root = root;
    trace_.root_world = world_rank(root == MPI_ROOT ? own(comm) : root, comm);
  }
  void target(int rank, MPI_Win win);
  void group(MPI_Group group);  // of an epoch of a window
  void lock(int type) { trace_.epoch = type == MPI_LOCK_EXCLUSIVE ? 1 : 0; }
  void direction(bool sends, bool receives) {
    trace_.sends = sends;
    trace_.receives = receives;
  }
  void made_object(std::uint64_t handle);
  void unmade_object(std::uint64_t handle);
  // Files and windows, whose handles may equal those of communicators.
  static std::uint64_t object(std::uint64_t handle) { return handle ^ 0x5bd1e995ULL << 32; }
  // Where MPI stores the status of completed receives; the program may ignore it.
  MPI_Status* statuses(int count, MPI_Status* theirs);
  void arrived(const MPI_Status* status);  // of a receive that waits
  void not_arrived(int error, const MPI_Status* status);
  void probed(const MPI_Status* status, bool found);
  void cancelled(const MPI_Request* request);
  void keep_handles(int count, const MPI_Request* requests);
  // A matched probe's message, and its receive, which gets no communicator.
  void message(const MPI_Message* message);
  template <class Count>
  void received_message(const MPI_Message* message, Count count, MPI_Datatype type) {
    if (traced_) expect_message(number(*message), size(count, type));
  }

  // ---- Requests ----
  void begun(const MPI_Request* request);
  template <class Count>
  void persistent(MPI_Request* request, Count count, MPI_Datatype type, int to, int tag,
                  MPI_Comm comm) {
    remember(*request, size(count, type), world_rank(to, comm), tag, comm, Persistent::kSend);
  }
  template <class Count>
  void persistent_receive(MPI_Request* request, Count count, MPI_Datatype type, int from, int tag,
                          MPI_Comm comm) {
    remember(*request, size(count, type), world_rank(from, comm), tag, comm, Persistent::kReceive);
  }
  void persistent_collective(MPI_Request* request, MPI_Comm comm) {
    remember(*request, bytes_, kNoPeer, -1, comm, Persistent::kCollective);
  }
  void start(int count, const MPI_Request* requests);
  void freed(const MPI_Request* request);
  void pending(int count, const MPI_Request* requests);
  void completed_all(int count, const MPI_Request* requests, bool done);
  // `place`: of the status.
  void completed_one(const MPI_Request* requests, int index, int place = 0);
  void completed_some(const MPI_Request* requests, int count, const int* indices);
  // The call returned an error; requests whose handles are null now are complete nevertheless.
  // `in_order`: a status for each request.
  void erroneous(int error, bool in_order, int count, const MPI_Request* requests);
  void tested(bool passed) { failed_ = !passed; }

  // ---- Communicators and the life of MPI ----
  void made(MPI_Comm comm) {
    made_like(comm, comm);
  }  // by a call on the communicator that `on` named, if any
  // `comm` will have the members of `like`.
  void made_like(MPI_Comm like, MPI_Comm comm);
  void unmade(MPI_Comm comm);
  void named(MPI_Comm comm, const char* name);
  void initialised();
  void finalising();
  void aborting();
  void session(int change);

  // ---- Quantities of communicators and types ----
  template <class Count>
  static std::int64_t size(Count count, MPI_Datatype type) {
    return static_cast<std::int64_t>(count) * size_of(type);
  }
  template <class Count>
  static std::int64_t sum(const Count* counts, int length) {
    std::int64_t total = 0;
    for (int i = 0; i < length; ++i) total += counts[i];
    return total;
  }
  template <class Count>
  static std::int64_t sizes(const Count* counts, const MPI_Datatype* types, int length) {
    std::int64_t total = 0;
    for (int i = 0; i < length; ++i) total += size(counts[i], types[i]);
    return total;
  }
  static int own(MPI_Comm comm);
  static int ranks(MPI_Comm comm);  // that a collective exchanges data with: an intercommunicator's
                                    // remote ones
  static int others(MPI_Comm comm);  // without the rank itself
  static int neighbours(MPI_Comm comm);

 private:
  static std::int64_t size_of(MPI_Datatype type);
  static std::int32_t world_rank(int rank, MPI_Comm comm);
  static MPI_Datatype type_of(MPI_Datatype type, int) { return type; }
  static MPI_Datatype type_of(const MPI_Datatype* types, int rank) { return types[rank]; }
  void part(std::int64_t bytes, int rank, MPI_Comm comm);
  void remember(MPI_Request request, std::int64_t bytes, std::int32_t peer, int tag, MPI_Comm comm,
                Persistent::Kind kind);
  void add(std::int32_t function, std::int32_t peer, std::int64_t bytes, std::uint64_t time,
           bool device);

  struct Waited {
    MPI_Request handle;
    std::uint32_t place;  // that was claimed for the call; 0: none, or the request is complete
  };

  // Facts for the trace only. A receive requests `source` and `tag`, and has room for `room` bytes.
  struct Traced {
    std::uint64_t comm = 0;    // handle; 0: none
    std::int64_t number = -1;  // of what the call ends, whose handle is unknown then
    std::int64_t made = -1;    // number of the communicator that the call made
    std::int64_t epoch = -1;   // number of the group; of a lock whether it is exclusive
    std::int32_t root = -1;
    std::int32_t root_world = kUnknownPeer;
    std::int32_t tag = -1;
    std::int32_t source = kNoPeer;
    std::int32_t source_tag = -1;
    std::int64_t sent = 0;
    std::int64_t room = 0;
    std::int64_t received = 0;
    bool sends = true;
    bool receives = false;
    bool expects = false;  // a receive
    bool half = false;     // of a call that sends, too
    std::uint64_t request = 0;
    bool begins = false;
    bool everybody = false;
    MPI_Status* statuses = nullptr;
    bool own_statuses = false;
    int handle_count = 0;
    Waited* waited = nullptr;
    Completion* completions = nullptr;
    std::uint32_t completion_count = 0;
  };
  static constexpr int kFew = 16;

  void expect(std::int32_t source, int tag, std::int64_t room, bool half) {
    trace_.expects = true;
    trace_.half = half;
    trace_.source = source;
    trace_.source_tag = tag == MPI_ANY_TAG ? -1 : tag;
    trace_.room = source == kNull ? 0 : room;
  }
  // `status` < 0: unknown; `whole`: whether all bytes of the message fitted.
  void complete(int request, int status, bool whole = true);
  void release_claims();
  bool begin_request(std::uint64_t handle);
  static std::int32_t world_rank_of(int rank, std::uint64_t comm) {
    return world_rank(rank, (MPI_Comm)comm);
  }
  void record();
  void record_started(std::uint64_t handle, const Persistent& slot, bool first);
  [[nodiscard]] Event blank(std::int32_t function) const;
  void expect_message(std::uint64_t message, std::int64_t room);
  static bool is_partitioned(std::int32_t function);
  void completed_persistent(MPI_Request request);
  void trace_communicator(MPI_Comm like, MPI_Comm comm);

  std::int32_t function_;
  void* address_;  // to which the wrapper returns
  std::int32_t peer_ = kNoPeer;
  std::int64_t bytes_ = 0;
  std::uint64_t site_;
  std::uint64_t begin_ = 0;
  std::uint64_t time_ = 0;
  int pending_ = 0;
  bool outermost_;
  bool counted_;
  bool sent_ = false;
  bool silent_ = false;  // no bytes of this call, though its request will have some
  bool failed_ = false;
  const void* buffer_ = nullptr;
  bool device_ = false;   // whether the bytes are in the memory of a device
  bool started_ = false;  // recorded by its requests
  bool traced_;
  MPI_Comm current_comm_ = MPI_COMM_NULL;
  Traced trace_;
  Waited few_waited_[kFew];
  MPI_Status few_statuses_[kFew];
  Completion few_completions_[kFew];
};

}  // namespace assay::trace
