#include "store.hpp"

#include <bit>
#include <cstring>

namespace assay::trace {
namespace {

constinit Store the_store;

std::uint64_t mix(std::uint64_t value) {  // the finaliser of MurmurHash3
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

}  // namespace

Store& store() { return the_store; }

void Store::limit(std::uint32_t entries) {
  if (entries < limit_) limit_ = entries;
}

Entry& Store::entry(std::int32_t function, std::uint64_t site, std::int32_t peer,
                    std::uint64_t bytes) {
  const auto size_class = static_cast<std::int32_t>(std::bit_width(bytes));
  std::uint64_t place = mix(site ^ mix(static_cast<std::uint64_t>(function) << 40 ^
                                       static_cast<std::uint64_t>(size_class) << 32 ^
                                       static_cast<std::uint32_t>(peer)));
  for (;; ++place) {
    Entry& slot = entries[place % kEntries];
    if (slot.function == function && slot.site == site && slot.peer == peer &&
        slot.size_class == size_class) {
      return slot;
    }
    if (slot.function != -1) continue;
    if (used_entries >= limit_) return overflow;
    ++used_entries;
    slot.function = function;
    slot.site = site;
    slot.peer = peer;
    slot.size_class = size_class;
    return slot;
  }
}

void Store::sent(std::int32_t peer, std::uint64_t bytes) {
  if (peer < 0) return;
  // Ranks up to kPeers never collide, so that only larger worlds can overflow.
  PeerBytes* slot = &peers[static_cast<std::uint32_t>(peer) % kPeers];
  if (slot->peer == kNoPeer) slot->peer = peer;
  if (slot->peer != peer) slot = &other_peers;
  ++slot->messages;
  slot->bytes += bytes;
}

void Store::forget(std::int32_t function, std::uint64_t site, std::int32_t peer,
                   std::uint64_t bytes) {
  entry(function, site, peer, bytes) = Entry{};
  overflow = Entry{};
  used_entries = 0;
  peers[static_cast<std::uint32_t>(peer) % kPeers] = PeerBytes{};
}

void Store::made(std::uint64_t handle, std::int32_t by, std::int32_t size, const char* name) {
  if (used_communicators == kCommunicators) {
    ++lost_communicators;
    return;
  }
  Communicator& slot = communicators[used_communicators++];
  slot.handle = handle;
  slot.made_by = by;
  slot.size = size;
  std::strncpy(slot.name, name, sizeof slot.name - 1);
}

Communicator* Store::communicator(std::uint64_t handle) {
  for (std::uint32_t i = used_communicators; i-- > 0;) {
    if (communicators[i].handle == handle && !communicators[i].freed) return &communicators[i];
  }
  return nullptr;
}

}  // namespace assay::trace
