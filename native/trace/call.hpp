// One call of an MPI function by the program. A wrapper makes a Call, tells it what the table says,
// calls the next function and tells it the result. Calls within a call aren't counted: MPI's
// Fortran functions and other tools call further MPI functions.
#pragma once

#include <mpi.h>

#include <cstdint>

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
  Call(std::int32_t function, void* site) noexcept;
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Whether the call is counted, and whether it's the program's own.
  [[nodiscard]] bool counted() const { return counted_; }
  [[nodiscard]] bool outermost() const { return outermost_; }

  void begin() noexcept;  // just before the function
  void end() noexcept;    // just after it

  // ---- What was sent: methods that functions.txt names ----
  void none() { silent_ = true; }
  void bytes(std::int64_t bytes) { bytes_ = bytes; }
  template <class Count>
  void send(Count count, MPI_Datatype type, int to, MPI_Comm comm) {
    from(to, comm);
    if (peer_ == kNull) return;
    bytes_ = size(count, type);
    sent_ = true;
  }
  template <class Count>
  void receive(Count count, MPI_Datatype type, int source, MPI_Comm comm) {
    from(source, comm);
    if (peer_ != kNull) bytes_ = size(count, type);
  }
  void from(int rank, MPI_Comm comm) { peer_ = world_rank(rank, comm); }
  // An exchange with a count (and a type) per rank: bytes to the other ranks, also counted as
  // theirs.
  template <class Count, class Type>
  void exchange(const Count* counts, Type types, MPI_Comm comm) {
    const int self = own(comm), all = ranks(comm);
    for (int rank = 0; rank < all; ++rank) {
      if (rank != self) part(size(counts[rank], type_of(types, rank)), rank, comm);
    }
  }

  // ---- Requests ----
  void begun(const MPI_Request* request);
  template <class Count>
  void persistent(MPI_Request* request, Count count, MPI_Datatype type, int to, MPI_Comm comm) {
    remember(*request, size(count, type), world_rank(to, comm), Persistent::kSend);
  }
  template <class Count>
  void persistent_receive(MPI_Request* request, Count count, MPI_Datatype type, int from,
                          MPI_Comm comm) {
    remember(*request, size(count, type), world_rank(from, comm), Persistent::kReceive);
  }
  void persistent_collective(MPI_Request* request) {
    remember(*request, bytes_, kNoPeer, Persistent::kCollective);
  }
  void start(int count, const MPI_Request* requests);
  void freed(const MPI_Request* request);
  void pending(int count, const MPI_Request* requests);
  void completed_all(int count, const MPI_Request* requests, bool done);
  void completed_one(const MPI_Request* requests, int index);
  void completed_some(const MPI_Request* requests, int count, const int* indices);
  void tested(bool passed) { failed_ = !passed; }

  // ---- Communicators and the life of MPI ----
  void made(MPI_Comm comm);
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
  void remember(MPI_Request request, std::int64_t bytes, std::int32_t peer, Persistent::Kind kind);
  void add(std::int32_t function, std::int32_t peer, std::int64_t bytes, std::uint64_t time);

  std::int32_t function_;
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
  bool started_ = false;  // recorded by its requests
};

}  // namespace assay::trace
