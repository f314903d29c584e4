// The buffers of one rank for a collective operation: filled before, checked byte by byte after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "memory/pages.hpp"
#include "network/buffer_memory.hpp"
#include "network/collective_ops.hpp"

namespace assay {

class CollectiveContents {
 public:
  CollectiveContents() = default;
  // Local; allocates both buffers. `memory`: where they lie, which outlives them; nullptr: in the
  // host's memory.
  CollectiveContents(const Collective& op, const Shape& shape,
                     const BufferMemory* memory = nullptr);

  const Buffers& buffers() const { return buffers_; }

  // Fills both buffers: this rank's contribution in that round, and bytes that differ from the
  // expected result.
  void prepare(std::size_t round);

  // Number of bytes that differ from those that the operation of that round must leave.
  std::int64_t wrong_bytes(std::size_t round) const;

  // Planted faults: changes a byte of this rank's result, or one after it.
  void damage_byte();
  void damage_guard();

 private:
  static constexpr std::size_t kGuard = 64;  // bytes after the buffer that must not change

  static unsigned char guard(std::size_t round) { return static_cast<unsigned char>(0xA5 + round); }

  unsigned char* incoming() const { return incoming_.as<unsigned char>(); }
  void damage(std::size_t place);

  template <typename Action>
  void each_expected(std::size_t round, Action action) const;

  const Collective* op_ = nullptr;
  Shape shape_;
  Buffers buffers_;
  Pages outgoing_;
  Pages incoming_;
  // Of buffers on a device; the pages above hold what was sent to it and read back.
  std::unique_ptr<BufferImage> sent_;
  std::unique_ptr<BufferImage> received_;
};

}  // namespace assay
