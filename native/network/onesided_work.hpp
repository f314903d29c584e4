// What one rank does to another's memory: transfers, sums, and atomic updates of one number, each
// with the contents that it must leave.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "harness/fault.hpp"
#include "network/messages.hpp"

namespace assay {

// The values of the parameter 'op'.
enum class RemoteOp { kPut, kGet, kAccumulate, kFetchAndOp, kCompareAndSwap };

// Operations on one 8-byte number.
inline bool is_atomic(RemoteOp op) {
  return op == RemoteOp::kFetchAndOp || op == RemoteOp::kCompareAndSwap;
}

struct RemoteTerms {
  RemoteOp op = RemoteOp::kPut;
  std::size_t bytes = 8;   // of one operation
  std::size_t window = 1;  // operations between two synchronisations
  bool origin = false;     // this rank calls MPI; its partner has the memory
  PlantedFault fault;
};

// One rank's side. `here` is its own memory, of `memory()` bytes: at the target within the window
// that the origin accesses. A round has contents of its own.
class RemoteWork {
 public:
  explicit RemoteWork(const RemoteTerms& terms) : terms_(terms) {}
  virtual ~RemoteWork() = default;
  RemoteWork(const RemoteWork&) = delete;
  RemoteWork& operator=(const RemoteWork&) = delete;

  virtual std::size_t memory() const = 0;
  virtual void attach(unsigned char* here) = 0;

  // Writes this rank's contents before operations of `size` bytes.
  virtual void prepare(std::size_t round, std::size_t size) = 0;
  // At the origin: `window` operations on that rank of the window. Returns MPI's codes, or'ed.
  virtual int issue(MPI_Win window, int target) = 0;
  // Bytes or numbers of this rank that are wrong after that many calls of issue().
  virtual std::int64_t wrong(std::int64_t calls) const = 0;
  // Damages what the timed operations left: the fault "byte".
  virtual void damage() = 0;
  // Prepares a "short" or "lost" operation: a byte or a number less, or one operation less.
  virtual void shorten() = 0;

 protected:
  std::size_t issued() const { return terms_.window - lost_; }

  const RemoteTerms terms_;
  std::size_t lost_ = 0;
};

std::unique_ptr<RemoteWork> make_remote_work(const RemoteTerms& terms);

}  // namespace assay
