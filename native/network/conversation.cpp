#include "network/conversation.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace assay {

PlantedFault read_fault(Parameters& parameters) {
  return PlantedFault(parameters, {"byte", "swap", "short"});
}

void Conversation::begin(const Maker& make) {
  if (!pair_.takes_part()) return;
  allocate();
  prepare(0, sizes(largest()));
  exchange_ = make({pair_, sent_ ? outgoing_.moved_to(sent_->address()) : outgoing_,
                    received_ ? incoming_.moved_to(received_->address()) : incoming_,
                    remote_ ? &*remote_ : nullptr});
  if (remote_) remote_->synchronise();
  exchange_->open(sizes(largest()));
}

int Conversation::try_out(std::size_t size) {
  if (!exchange_) return MPI_SUCCESS;
  exchange_->open(sizes(size));
  const int failed = exchange_->run(1);
  prepare(0, sizes(largest()));
  exchange_->open(sizes(largest()));
  return failed;
}

// One row for outgoing and one for incoming messages, page-aligned. They are on ordinary pages, as
// in an application; MPI allocates the row that a partner accesses.
void Conversation::allocate() {
  const Sizes most = sizes(largest());
  const std::size_t out = MessageRow::memory(most.outgoing, terms_.places);
  const std::size_t in = MessageRow::memory(most.incoming, terms_.places);
  const bool puts = terms_.mode == Mode::kPut;
  const bool gets = terms_.mode == Mode::kGet;
  std::exception_ptr failure;
  try {
    require_memory(context_, kPartForBuffers, static_cast<double>(out + in), "two buffers",
                   "give a smaller number of 'bytes'");
    if (!gets) outgoing_memory_ = Pages(out, Pages::Size::ordinary);
    if (!puts) incoming_memory_ = Pages(in, Pages::Size::ordinary);
  } catch (...) {
    failure = std::current_exception();
  }
  if (is_one_sided(terms_.mode)) {
    try {
      remote_.emplace(pair_, puts ? in : out, failure == nullptr);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
  outgoing_ = {gets ? remote_->own() : outgoing_memory_.as<unsigned char>(), most.outgoing,
               terms_.places};
  incoming_ = {puts ? remote_->own() : incoming_memory_.as<unsigned char>(), most.incoming,
               terms_.places};
  if (terms_.memory == nullptr) return;
  sent_ = terms_.memory->image_of(outgoing_.at(0), out);
  received_ = terms_.memory->image_of(incoming_.at(0), in);
}

Sizes Conversation::sizes(std::size_t size) const {
  const Sizes of_first{std::min(size, terms_.there), std::min(size, terms_.back)};
  return pair_.first ? of_first : Sizes{of_first.incoming, of_first.outgoing};
}

Sizes Conversation::damaged(Sizes sizes) const {
  if (!terms_.fault.is("short")) return sizes;
  // MPI wants messages in partitions to be as long as their receives.
  if (terms_.mode == Mode::kPartitioned) {
    return {sizes.outgoing - (sizes.outgoing > 0 ? 1 : 0),
            sizes.incoming - (sizes.incoming > 0 ? 1 : 0)};
  }
  std::size_t& moved = terms_.mode == Mode::kGet ? sizes.incoming : sizes.outgoing;
  moved -= moved > 0 ? 1 : 0;
  return sizes;
}

void Conversation::prepare(std::size_t round, Sizes sizes) const {
  outgoing_.write(sizes.outgoing, terms_.number + round, pair_.first ? 0 : 1);
  incoming_.blank(sizes.incoming, terms_.number + round, pair_.first ? 1 : 0);
  if (sent_) sent_->upload();
  if (received_) received_->upload();
}

std::int64_t Conversation::wrong(std::size_t round, Sizes sizes) const {
  if (received_) received_->download();
  return incoming_.wrong(sizes.incoming, terms_.number + round, pair_.first ? 1 : 0);
}

void Conversation::meet_in_memory() const {
  if (remote_) remote_->synchronise();
  check_mpi(meet(pair_));
  if (remote_) remote_->synchronise();
}

std::int64_t Conversation::wrong_bytes() {
  if (!pair_.takes_part()) return 0;
  exchange_->close();
  meet_in_memory();
  plant_damage();
  std::int64_t found = wrong(0, sizes(largest()));
  std::size_t round = 0;
  for (const std::size_t size : sizes_up_to(largest())) {
    const Sizes now = sizes(size);
    prepare(++round, now);
    exchange_->open(damaged(now));
    meet_in_memory();
    check_mpi(exchange_->run(1));
    meet_in_memory();
    exchange_->close();
    found += wrong(round, now);
  }
  return found;
}

// Called on one of the two ranks, one that receives.
void Conversation::plant_damage() const {
  const Sizes most = sizes(largest());
  if (most.incoming == 0 || (pair_.first && most.outgoing > 0)) return;
  if (received_) received_->download();
  if (terms_.fault.is("byte")) incoming_.at(0)[most.incoming / 2] ^= 1;
  if (terms_.fault.is("swap")) {
    unsigned char* const last = incoming_.at(incoming_.places() - 1);
    std::swap_ranges(last, last + most.incoming, incoming_.at(0));
  }
  if (received_) received_->upload();
}

}  // namespace assay
