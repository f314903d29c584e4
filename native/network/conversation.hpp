// A pair of ranks with the memory for its messages, their exchange, and its check.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "network/buffer_memory.hpp"
#include "network/exchange.hpp"
#include "network/messages.hpp"
#include "network/pair.hpp"
#include "network/remote_memory.hpp"

namespace assay {

// Faults that tests plant: a wrong byte among the bytes of the timed messages, two swapped
// messages, messages that are one byte short.
PlantedFault read_fault(Parameters& parameters);

class Conversation {
 public:
  // Sizes and layout: the rank that begins sends `there` bytes, its partner `back`; a row holds
  // `places` messages.
  struct Terms {
    Mode mode = Mode::kBlocking;
    std::size_t there = 0;
    std::size_t back = 0;
    std::size_t places = 1;
    PlantedFault fault;
    // Conversations with different numbers have different contents in the timed messages.
    std::size_t number = 0;
    // Where two-sided messages lie; outlives the conversation. nullptr: in the host's memory.
    const BufferMemory* memory = nullptr;
  };
  using Maker = std::function<std::unique_ptr<Exchange>(const Parties&)>;

  Conversation(const Context& context, const Pair& pair, const Terms& terms)
      : context_(context), pair_(pair), terms_(terms) {}

  // Allocates, fills, and opens the exchange that `make` returns. Called on both ranks of the pair;
  // does nothing on a rank without a pair. One-sided modes communicate within the pair. May throw
  // KernelError.
  void begin(const Maker& make);

  // One operation with messages of at most `size`, then the largest again: of two-sided modes in
  // which open() prepares nothing (kBlocking, kNonblocking), before the first run().
  int try_out(std::size_t size);

  int run(std::int64_t count) { return exchange_ ? exchange_->run(count) : 0; }

  // Collective over the pair, once, after the last run(): the number of wrong or missing bytes on
  // this rank in the timed messages, and then in further messages of all powers of two up to that
  // size, each with a different pattern. Closes the exchange.
  std::int64_t wrong_bytes();

  const Pair& pair() const { return pair_; }

 private:
  void allocate();
  // The sizes limited to `size`, for this rank.
  Sizes sizes(std::size_t size) const;
  Sizes damaged(Sizes sizes) const;
  void prepare(std::size_t round, Sizes sizes) const;
  std::int64_t wrong(std::size_t round, Sizes sizes) const;
  void plant_damage() const;
  // Synchronises both ranks and makes earlier writes of each visible to the other.
  void meet_in_memory() const;

  std::size_t largest() const { return terms_.there > terms_.back ? terms_.there : terms_.back; }

  Context context_;
  Pair pair_;
  Terms terms_;
  Pages outgoing_memory_;
  Pages incoming_memory_;
  std::optional<RemoteMemory> remote_;
  // Of messages on a device, in whose memory the exchange works; the rows below are checked.
  std::unique_ptr<BufferImage> sent_;
  std::unique_ptr<BufferImage> received_;
  MessageRow outgoing_;
  MessageRow incoming_;
  std::unique_ptr<Exchange> exchange_;  // destroyed first: it may hold requests on the memory above
};

}  // namespace assay
