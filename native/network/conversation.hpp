// A pair of ranks with the memory for its messages, an exchange between them, and the check of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "memory/pages.hpp"
#include "network/exchange.hpp"
#include "network/messages.hpp"
#include "network/pair.hpp"
#include "network/remote_memory.hpp"

namespace assay {

// Damage that tests plant: a wrong byte in what the timed messages left, two messages that took
// each other's place, messages that are a byte short.
PlantedFault read_fault(Parameters& parameters);

class Conversation {
 public:
  // What is said: the rank that begins sends `there` bytes, its partner `back`, `places` messages
  // of a row apart in memory.
  struct Terms {
    Mode mode = Mode::kBlocking;
    std::size_t there = 0;
    std::size_t back = 0;
    std::size_t places = 1;
    PlantedFault fault;
  };
  using Maker = std::function<std::unique_ptr<Exchange>(const Parties&)>;

  Conversation(const Context& context, const Pair& pair, const Terms& terms)
      : context_(context), pair_(pair), terms_(terms) {}

  // Allocates, fills, and opens the exchange that `make` yields. Both ranks of the pair; a rank
  // without a pair has nothing to do. One-sided modes communicate within the pair. May throw
  // KernelError.
  void begin(const Maker& make);

  int run(std::int64_t count) { return exchange_ ? exchange_->run(count) : 0; }

  // Collective over the pair, once, after the last run(): the bytes that are wrong or missing on
  // this rank in what the timed messages left, and then in further messages of all powers of two up
  // to that size, each with a pattern of its own. Closes the exchange.
  std::int64_t wrong_bytes();

  const Pair& pair() const { return pair_; }

 private:
  void allocate();
  // As large as `size` allows, for this rank.
  Sizes sizes(std::size_t size) const;
  Sizes damaged(Sizes sizes) const;
  void prepare(std::size_t round, Sizes sizes) const;
  std::int64_t wrong(std::size_t round, Sizes sizes) const;
  void plant_damage() const;
  // Both ranks are here, and each sees what the other wrote before.
  void meet_in_memory() const;

  std::size_t largest() const { return terms_.there > terms_.back ? terms_.there : terms_.back; }

  Context context_;
  Pair pair_;
  Terms terms_;
  Pages outgoing_memory_;
  Pages incoming_memory_;
  std::optional<RemoteMemory> remote_;
  MessageRow outgoing_;
  MessageRow incoming_;
  std::unique_ptr<Exchange> exchange_;  // goes first: it may hold requests on the memory above
};

}  // namespace assay
