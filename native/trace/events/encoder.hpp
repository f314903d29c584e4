// Encodes events into bits; memory is constant.
#pragma once

#include <cstdint>

#include "events/format.hpp"

namespace assay::trace {

// A request that a call completed. `age`: how many requests were begun since, itself included.
// `actual`: source (world rank), tag and bytes differ from those that the receive asked for.
struct Completion {
  std::int64_t age = 0;
  bool actual = false;
  std::int64_t source = 0;
  std::int64_t tag = 0;
  std::int64_t bytes = 0;
};

struct Event {
  Signature signature;
  std::uint64_t begin = 0;  // ns since the begin of the trace
  std::uint64_t end = 0;
  std::uint64_t calls = 0;  // of an event that is kFolded
  const Completion* completions = nullptr;
  std::uint32_t completion_count = 0;  // at most kLongestList
};

class Encoder {
 public:
  void reset();

  void add(const Event& event);

  // The bits since the last call of `take`, filled up to a byte.
  const std::uint8_t* take(std::uint32_t* length);
  [[nodiscard]] std::uint32_t pending() const { return used_; }
  [[nodiscard]] bool fits(std::uint32_t completions) const {
    return used_ + kLargestEvent + completions * kLargestCompletion < sizeof buffer_;
  }

 private:
  static constexpr std::uint32_t kLargestEvent = 512;
  static constexpr std::uint32_t kLargestCompletion = 48;

  void bits(std::uint64_t value, int count);  // up to 56 of them
  void number(std::uint64_t value);
  void timed(Context& context, std::uint64_t code);
  [[nodiscard]] std::int32_t find_list(std::uint32_t words) const;
  std::int32_t find(const Signature& signature) const;
  std::uint16_t define(const Event& event, Signature signature, std::int32_t list);
  void signature_of(const Event& event, std::uint16_t* found);

  Model model_;
  std::uint64_t ends_[kThreads] = {};  // as the decoder will have them
  std::uint16_t by_hash_[2 * kSignatures] = {};
  std::uint16_t lists_by_hash_[2 * kLists] = {};
  std::int64_t scratch_[4 * kLongestList] = {};
  std::uint64_t held_ = 0;
  int held_bits_ = 0;
  std::uint32_t used_ = 0;
  std::uint8_t buffer_[kLongestList * kLargestCompletion + (1U << 15)] = {};
};

}  // namespace assay::trace
