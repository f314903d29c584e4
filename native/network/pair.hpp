// Two ranks that exchange messages, and the parameters common to all message kernels.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/kernel.hpp"

namespace assay {

constexpr std::int64_t kLargestMessage = std::int64_t{1} << 30;

// Tags: of timed messages, of acknowledgements, and of untimed synchronisation between two ranks.
constexpr int kMessage = 1;
constexpr int kAcknowledgement = 2;
constexpr int kMeeting = 3;

// One rank's view of a pair: its partner, and which of the two begins.
struct Pair {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = MPI_PROC_NULL;
  int partner = MPI_PROC_NULL;
  bool first = false;

  bool takes_part() const { return partner != MPI_PROC_NULL; }
};

// This rank's view of the pair; no partner for a rank outside of the pair.
inline Pair pair_of(const Context& context, int from, int to) {
  if (context.rank == from) return {context.comm, context.rank, to, true};
  if (context.rank == to) return {context.comm, context.rank, from, false};
  return {context.comm, context.rank, MPI_PROC_NULL, false};
}

// Neither rank of the pair returns until the other has called it.
inline int meet(const Pair& pair) {
  return MPI_Sendrecv(nullptr, 0, MPI_BYTE, pair.partner, kMeeting, nullptr, 0, MPI_BYTE,
                      pair.partner, kMeeting, pair.comm, MPI_STATUS_IGNORE);
}

inline void check_mpi(int failed) {
  if (failed != MPI_SUCCESS) throw KernelError("MPI failed to send or to receive a message");
}

// The parameter 'bytes'.
inline std::size_t read_message_size(Parameters& parameters,
                                     std::int64_t largest = kLargestMessage) {
  const std::int64_t bytes = parameters.integer("bytes", 8);
  if (bytes < 0 || bytes > largest) {
    throw KernelError("parameter 'bytes' must be between 0 and " + std::to_string(largest) +
                      ", not " + std::to_string(bytes));
  }
  return static_cast<std::size_t>(bytes);
}

// The parameters 'from' and 'to'; -1, the default of 'to', is the last rank. `what` names the
// operation in error messages.
inline Pair read_pair(const Context& context, Parameters& parameters, const std::string& what) {
  if (context.size < 2) throw KernelError(what + " needs at least 2 ranks");
  const auto checked = [&](const std::string& name, std::int64_t rank) {
    if (rank >= 0 && rank < context.size) return static_cast<int>(rank);
    throw KernelError("parameter '" + name + "' is rank " + std::to_string(rank) +
                      ", but the last rank is " + std::to_string(context.size - 1));
  };
  const std::int64_t last = parameters.integer("to", -1);
  const int from = checked("from", parameters.integer("from", 0));
  const int to = checked("to", last == -1 ? context.size - 1 : last);
  parameters.resolve("to", std::int64_t{to});
  if (from == to) {
    throw KernelError("parameters 'from' and 'to' are both rank " + std::to_string(from) +
                      ", but " + what + " is between two");
  }
  return pair_of(context, from, to);
}

// The message sizes of a check: 0, the powers of two below `largest`, and `largest` itself.
inline std::vector<std::size_t> sizes_up_to(std::size_t largest) {
  std::vector<std::size_t> all{0};
  for (std::size_t size = 1; size < largest; size *= 2) all.push_back(size);
  if (largest > 0) all.push_back(largest);
  return all;
}

}  // namespace assay
