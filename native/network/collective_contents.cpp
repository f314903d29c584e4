#include "network/collective_contents.hpp"

#include <algorithm>
#include <cstring>

namespace assay {

CollectiveContents::CollectiveContents(const Collective& op, const Shape& shape,
                                       const BufferMemory* memory)
    : op_(&op),
      shape_(shape),
      buffers_(lists_of(op, shape)),
      outgoing_(op.gives(shape) + kGuard, Pages::Size::ordinary),
      incoming_(op.gets(shape) + kGuard, Pages::Size::ordinary) {
  buffers_.out = outgoing_.as<unsigned char>();
  buffers_.in = incoming();
  if (memory == nullptr) return;
  sent_ = memory->image_of(outgoing_.as<unsigned char>(), op.gives(shape) + kGuard);
  received_ = memory->image_of(incoming(), op.gets(shape) + kGuard);
  buffers_.out = sent_->address();
  buffers_.in = received_->address();
}

void CollectiveContents::prepare(std::size_t round) {
  auto* out = outgoing_.as<unsigned char>();
  const std::size_t gives = op_->gives(shape_);
  if (op_->reduces) {
    for (std::size_t i = 0; i < gives / sizeof(double); ++i) {
      const double term = term_of(shape_.rank, i, round);
      std::memcpy(out + i * sizeof term, &term, sizeof term);
    }
  } else {
    for (std::size_t i = 0; i < gives; ++i) out[i] = byte_of(shape_.rank, i, round);
  }
  each_expected(round, [this](std::size_t i, unsigned char expected) {
    incoming()[i] = static_cast<unsigned char>(~expected);
  });
  std::fill_n(incoming() + op_->gets(shape_), kGuard, guard(round));
  if (sent_) sent_->upload();
  if (received_) received_->upload();
}

std::int64_t CollectiveContents::wrong_bytes(std::size_t round) const {
  if (received_) received_->download();
  std::int64_t wrong = 0;
  each_expected(round, [&](std::size_t i, unsigned char expected) {
    wrong += incoming()[i] != expected ? 1 : 0;
  });
  const unsigned char* end = incoming() + op_->gets(shape_);
  wrong += std::count_if(end, end + kGuard, [&](unsigned char c) { return c != guard(round); });
  return wrong;
}

void CollectiveContents::damage_byte() {
  const std::size_t gets = op_->gets(shape_);
  if (gets > 0) damage(gets / 2);
}

void CollectiveContents::damage_guard() {
  const std::size_t gets = op_->gets(shape_);
  if (gets > 0) damage(gets);
}

void CollectiveContents::damage(std::size_t place) {
  if (received_) received_->download();
  incoming()[place] ^= 1;
  if (received_) received_->upload();
}

// Calls action(index, byte) for every byte that this rank must receive in that round.
template <typename Action>
void CollectiveContents::each_expected(std::size_t round, Action action) const {
  const std::size_t gets = op_->gets(shape_);
  if (!op_->reduces) {
    for (std::size_t i = 0; i < gets; ++i) {
      const Origin origin = op_->origin(shape_, i);
      action(i, byte_of(origin.source, origin.index, round));
    }
    return;
  }
  unsigned char bytes[sizeof(double)];
  for (std::size_t i = 0; i < gets; i += sizeof(double)) {
    const std::size_t element = op_->origin(shape_, i).index / sizeof(double);
    const double sum = sum_of(shape_.size, element, round);
    std::memcpy(bytes, &sum, sizeof sum);
    for (std::size_t k = 0; k < sizeof sum; ++k) action(i + k, bytes[k]);
  }
}

}  // namespace assay
