// Non-blocking operations of MPI, each started on its own and completed later.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

class NonblockingOperation {
 public:
  virtual ~NonblockingOperation() = default;

  // Local; may throw KernelError or std::bad_alloc.
  virtual void allocate() = 0;

  // Requests of this rank in one operation.
  virtual std::size_t requests() const = 0;

  // Whether this rank is one that computes while the operation is under way; its time counts.
  virtual bool computes() const { return true; }

  // Starts an operation with at most that many bytes. Returns MPI's error code.
  virtual int start(std::size_t bytes, MPI_Request* requests) = 0;

  // Fills the buffers for operations of that round; afterwards, the bytes that are wrong or
  // missing.
  virtual void prepare(std::size_t round) = 0;
  virtual std::int64_t wrong_bytes(std::size_t round) const = 0;

  // A planted fault.
  virtual void damage_byte() = 0;
};

std::vector<std::string> nonblocking_names();
bool is_ibarrier(const std::string& name);
// Whether that operation adds up doubles.
bool adds_up(const std::string& name);

// The operation of that name must exist.
std::unique_ptr<NonblockingOperation> make_nonblocking(const std::string& name,
                                                       const Context& context, std::size_t bytes);

}  // namespace assay
