// Message exchange of the two ranks of a pair: one class per mode, chosen before the timed part.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/test_build.hpp"
#include "network/extent.hpp"
#include "network/messages.hpp"
#include "network/pair.hpp"
#include "network/remote_memory.hpp"

namespace assay {

// The values of the parameter 'mode'. In `kPut` and `kGet` the rank that begins does all the work,
// on memory of its partner; the others are two-sided.
enum class Mode { kBlocking, kNonblocking, kPreposted, kPersistent, kPut, kGet, kPartitioned };

// The parameter 'mode'. `partitions`: whether kPartitioned is one of its values.
Mode read_mode(Parameters& parameters, const std::string& fallback, bool partitions = false);

inline bool is_one_sided(Mode mode) { return mode == Mode::kPut || mode == Mode::kGet; }

// Arguments of an exchange. `remote` is set for one-sided modes: the partner's incoming row for
// kPut, its outgoing one for kGet, laid out as this rank's own.
struct Parties {
  Pair pair;
  MessageRow outgoing;
  MessageRow incoming;
  const RemoteMemory* remote = nullptr;
};

// Bytes from which on a message of a round trip is one element of a type of its own; few in the
// builds of tests, which then measure such messages without the memory for them.
constexpr std::size_t kExtentBlock = kTestFaults ? 3000 : std::size_t{1} << 30;

class Exchange {
 public:
  explicit Exchange(const Parties& parties) : pair_(parties.pair), parties_(parties) {}
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Sets the sizes of subsequent messages. Both ranks of the pair open, then meet, before either
  // runs. Local.
  virtual void open(Sizes sizes) {
    outgoing_ = static_cast<int>(std::min(sizes.outgoing, kMostInInt));
    incoming_ = static_cast<int>(std::min(sizes.incoming, kMostInInt));
    sent_ = Extent(sizes.outgoing, kExtentBlock);
    received_ = Extent(sizes.incoming, kExtentBlock);
  }

  // Does the operation `count` times: the timed part. Returns MPI's error codes, or'ed.
  virtual int run(std::int64_t count) = 0;

  // Cancels what open() and run() left prepared. Local; may be called again.
  virtual void close() {}

 protected:
  const Pair pair_;
  const Parties parties_;
  int outgoing_ = 0;  // bytes, of exchanges whose messages are shorter than 2 GiB
  int incoming_ = 0;
  Extent sent_;
  Extent received_;

 private:
  static constexpr std::size_t kMostInInt = std::numeric_limits<int>::max();
};

// A message to the partner and one back. One-sided: a transfer and its completion. Not of
// kPartitioned.
std::unique_ptr<Exchange> make_round_trips(Mode mode, const Parties& parties);

// The same, each message in that many partitions. Throws KernelError if MPI has none.
std::unique_ptr<Exchange> make_partitioned_trips(int partitions, const Parties& parties);

// `window` messages in flight and then an acknowledgement, from the rank that begins to its partner
// (kGet: the other way), or in both directions concurrently.
std::unique_ptr<Exchange> make_windows(Mode mode, bool both_ways, int window,
                                       const Parties& parties);

// Cancels posted receives that will never be matched.
void cancel(std::vector<MPI_Request>& requests);

}  // namespace assay
