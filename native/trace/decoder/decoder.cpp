// Decodes the blocks of events of a trace (docs/formats/trace.md) into columns. A library of its
// own, without MPI, that assay loads. Each number from the file is checked before it is used.
#include <cstdint>
#include <memory>

#include "events/format.hpp"

namespace assay::trace {
namespace {

class Bits {
 public:
  Bits(const std::uint8_t* bytes, std::uint64_t length) : bytes_(bytes), left_(length) {}

  std::uint64_t take(int count) {
    while (held_bits_ < count) {
      if (left_ == 0) {
        torn_ = true;
        held_bits_ += 8;
      } else {
        held_ |= static_cast<std::uint64_t>(*bytes_++) << held_bits_;
        held_bits_ += 8;
        --left_;
      }
    }
    const std::uint64_t value = held_ & ((std::uint64_t{1} << count) - 1);
    held_ >>= count;
    held_bits_ -= count;
    return value;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 3) {
      const std::uint64_t group = take(4);
      value |= (group & 7) << shift;
      if (group < 8) break;
    }
    return value;
  }
  std::uint64_t timed(Context& context) {
    const std::int64_t predicted = context.predicted();
    const int k = context.parameter();
    int high = 0;
    while (high < kEscape && take(1)) ++high;
    std::uint64_t difference = 0, code = 0;
    if (high < kEscape) {
      difference = static_cast<std::uint64_t>(high) << k | take(k);
      const std::int64_t value = predicted + from_zigzag(difference);
      code = static_cast<std::uint64_t>(value < 0 ? 0 : value);
    } else {
      code = take(kEscapeBits);
      difference = zigzag(static_cast<std::int64_t>(code) - predicted);
    }
    context.update(static_cast<std::int64_t>(code), difference);
    return code;
  }
  [[nodiscard]] bool torn() const { return torn_; }

 private:
  const std::uint8_t* bytes_;
  std::uint64_t left_;
  std::uint64_t held_ = 0;
  int held_bits_ = 0;
  bool torn_ = false;
};

struct Columns {
  std::int64_t* begin;
  std::int64_t* end;
  std::uint16_t* function;
  std::uint32_t* site;
  std::uint32_t* communicator;
  std::int32_t* peer;
  std::int32_t* tag;
  std::int32_t* source;
  std::int32_t* source_tag;
  std::int64_t* sent;
  std::int64_t* received;
  std::int64_t* request;
  std::int64_t* completed_start;  // one more than events
  std::int64_t* completed_request;
  std::uint32_t* count;
  std::uint16_t* thread;
  std::int64_t* row;   // of the event that began each request
  std::int64_t* room;  // that it offered
};

struct Block {
  std::uint64_t offset;
  std::uint64_t length;
  std::uint64_t events;
  std::uint64_t requests;
  std::uint64_t completions;
};

class Decoder {
 public:
  explicit Decoder(const Columns& to) : to_(to) {
    model_.reset();
    to_.completed_start[0] = 0;
  }

  bool decode(const std::uint8_t* data, const Block& block) {
    Bits bits(data + block.offset, block.length);
    const std::int64_t events = row_ + static_cast<std::int64_t>(block.events);
    most_requests_ += static_cast<std::int64_t>(block.requests);
    most_completions_ += static_cast<std::int64_t>(block.completions);
    for (; row_ < events; ++row_) {
      if (!event(bits) || bits.torn()) return false;
    }
    return requests_ == most_requests_ && completions_ == most_completions_;
  }

 private:
  // The number of the next signature; -1 if the bits are damaged.
  std::int32_t next(Bits& bits) {
    Predictor& predictor = model_.predictor;
    const std::uint32_t six = predictor.place_six(), two = predictor.place_two();
    std::uint32_t found = kNone;
    if (bits.take(1)) {
      found = predictor.by_six[six];
    } else if (bits.take(1)) {
      found = predictor.by_two[two];
    } else if (bits.take(1)) {
      if (model_.signature_count == 0) return -1;
      found = static_cast<std::uint32_t>(bits.take(std::bit_width(model_.signature_count - 1)));
    } else {
      if (bits.take(1)) model_.reset();
      if (!define(bits)) return -1;
      found = model_.signature_count - 1;
      predictor.update(static_cast<std::uint16_t>(found), predictor.place_six(),
                       predictor.place_two());
      return static_cast<std::int32_t>(found);
    }
    if (found >= model_.signature_count) return -1;
    predictor.update(static_cast<std::uint16_t>(found), six, two);
    return static_cast<std::int32_t>(found);
  }

  bool define(Bits& bits) {
    if (model_.signature_count >= kSignatures) return false;
    Signature made = model_.base();
    const std::uint64_t mask = bits.take(kFields);
    for (std::uint32_t i = 0; i < kFields; ++i) {
      if (mask >> i & 1) {
        made.field[i] =
            static_cast<std::int64_t>(static_cast<std::uint64_t>(made.field[i]) +
                                      static_cast<std::uint64_t>(from_zigzag(bits.number())));
      }
    }
    const std::int64_t list = made.field[kListField];
    if (list < 0 || list > model_.list_count || made.field[kThreadField] < 0 ||
        made.field[kThreadField] >= static_cast<std::int64_t>(kThreads)) {
      return false;
    }
    if (list == model_.list_count) {
      if (model_.list_count >= kLists) return false;
      std::uint32_t used = model_.list_begin[model_.list_count];
      const std::uint64_t count = bits.number();
      if (count > kLongestList) return false;
      for (std::uint64_t i = 0; i < count; ++i) {
        if (used + 4 > kListWords || bits.torn()) return false;
        const auto word = static_cast<std::int64_t>(bits.number());
        model_.words[used++] = word;
        for (int k = 0; k < 3 && (word & 1); ++k) model_.words[used++] = from_zigzag(bits.number());
      }
      model_.list_begin[++model_.list_count] = used;
    }
    model_.signatures[model_.signature_count++] = made;
    return true;
  }

  bool event(Bits& bits) {
    const std::uint16_t before = model_.predictor.last[0];
    const std::int32_t found = next(bits);
    if (found < 0) return false;
    const Signature& one = model_.signatures[found];
    const std::uint32_t context = Predictor::pair(before, static_cast<std::uint32_t>(found));
    const std::int64_t flags = one.field[kFlagsField];
    to_.count[row_] = flags & kFolded ? static_cast<std::uint32_t>(bits.number()) : 1;
    std::uint64_t& time = ends_[one.field[kThreadField]];
    time += nanoseconds_of(bits.timed(model_.gaps[context]));
    to_.begin[row_] = static_cast<std::int64_t>(time);
    time += nanoseconds_of(bits.timed(model_.durations[context]));
    to_.end[row_] = static_cast<std::int64_t>(time);
    to_.function[row_] = static_cast<std::uint16_t>(one.field[kFunctionField]);
    to_.site[row_] = static_cast<std::uint32_t>(one.field[kSiteField]);
    to_.communicator[row_] = static_cast<std::uint32_t>(one.field[kCommunicatorField]);
    to_.peer[row_] = static_cast<std::int32_t>(one.field[kPeerField]);
    to_.tag[row_] = static_cast<std::int32_t>(one.field[kTagField]);
    to_.source[row_] = static_cast<std::int32_t>(one.field[kSourceField]);
    to_.source_tag[row_] = static_cast<std::int32_t>(one.field[kSourceTagField]);
    to_.thread[row_] = static_cast<std::uint16_t>(one.field[kThreadField]);
    to_.sent[row_] = one.field[kSentField];
    to_.received[row_] = flags & kPosted ? -1 : one.field[kReceivedField];
    to_.request[row_] = -1;
    if (flags & kBegins) {
      if (requests_ >= most_requests_) return false;
      to_.row[requests_] = row_;
      to_.room[requests_] = flags & kPosted ? one.field[kReceivedField] : -1;
      to_.request[row_] = requests_++;
    }
    return complete(one);
  }

  bool complete(const Signature& signature) {
    const std::int64_t list = signature.field[kListField];
    std::uint32_t at = model_.list_begin[list];
    const std::uint32_t end = model_.list_begin[list + 1];
    while (at < end) {
      const std::int64_t word = model_.words[at++];
      const std::int64_t request = requests_ - (word >> 1);
      if (request < 0 || request >= requests_ || completions_ >= most_completions_) return false;
      to_.completed_request[completions_++] = request;
      const std::int64_t row = to_.row[request];
      if (!(word & 1)) {
        if (to_.room[request] >= 0) to_.received[row] = to_.room[request];
        continue;
      }
      if (at + 3 > end) return false;
      // The receiving half of a call that sends, too, has columns of its own.
      const bool half = to_.sent[row] > 0 || to_.source[row] != -1;
      (half ? to_.source : to_.peer)[row] = static_cast<std::int32_t>(model_.words[at]);
      (half ? to_.source_tag : to_.tag)[row] = static_cast<std::int32_t>(model_.words[at + 1]);
      to_.received[row] = model_.words[at + 2];
      at += 3;
    }
    to_.completed_start[row_ + 1] = completions_;
    return true;
  }

  Columns to_;
  Model model_;
  std::uint64_t ends_[kThreads] = {};
  std::int64_t row_ = 0;
  std::int64_t requests_ = 0, most_requests_ = 0;
  std::int64_t completions_ = 0, most_completions_ = 0;
};

}  // namespace
}  // namespace assay::trace

// The number of blocks that could be decoded. The columns have room for all their events, requests
// and completions.
extern "C" std::int64_t assay_decode(const std::uint8_t* data, const assay::trace::Block* blocks,
                                     std::int64_t count, const assay::trace::Columns* columns) {
  const auto decoder = std::make_unique<assay::trace::Decoder>(*columns);
  for (std::int64_t i = 0; i < count; ++i) {
    if (!decoder->decode(data, blocks[i])) return i;
  }
  return count;
}

extern "C" std::uint32_t assay_checksum(const std::uint8_t* data, std::uint64_t begin,
                                        std::uint64_t length) {
  return assay::trace::checksum(data + begin, length);
}
