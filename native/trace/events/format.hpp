// The arithmetic of the trace (docs/formats/trace.md) that the writer and the decoder share: how
// times are rounded and predicted, how the next signature is predicted, and the coded integers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace assay::trace {

// ---- Times --------------------------------------------------------------------------------------

// An interval is rounded to a multiple of a tick, of 2, 4 and 8 ticks from 128, 256 and 512 ticks
// on, and of 16 ticks (1.024 us) from 1024 ticks on: by at most 32 ns, 1/128 of it, or 512 ns.
constexpr std::uint64_t kTick = 64;  // ns

inline std::uint64_t code_of(std::uint64_t nanoseconds) {
  const std::uint64_t ticks = nanoseconds / kTick;
  if (ticks < 128) return (nanoseconds + kTick / 2) / kTick;
  const int shift = ticks >= 1024 ? 4 : std::bit_width(ticks) - 7;
  const std::uint64_t first = (std::uint64_t{64} << shift) * kTick, step = kTick << shift;
  return 64 + 64 * static_cast<std::uint64_t>(shift) + (nanoseconds - first + step / 2) / step;
}

inline std::uint64_t nanoseconds_of(std::uint64_t code) {
  if (code < 128) return code * kTick;
  const std::uint64_t shift = code >= 320 ? 4 : code / 64 - 1;
  return ((std::uint64_t{64} << shift) + ((code - 64 - 64 * shift) << shift)) * kTick;
}

// ---- Integers -----------------------------------------------------------------------------------

inline std::uint64_t zigzag(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}

inline std::int64_t from_zigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

// A value that is expected to be near its predecessors in the same context: the difference from
// their running mean, as a Golomb-Rice code whose parameter follows the mean difference (as in
// LOCO-I: Weinberger, Seroussi & Sapiro, IEEE Trans. Image Processing 9, 2000).
struct Context {
  std::int64_t mean = 0;  // sixteenths
  std::uint32_t sum = 0;
  std::uint32_t count = 0;

  [[nodiscard]] std::int64_t predicted() const { return mean >> 4; }
  [[nodiscard]] int parameter() const {
    if (count == 0) return 6;
    int k = 0;
    while ((static_cast<std::uint64_t>(count) << k) < sum && k < 30) ++k;
    return k;
  }
  void update(std::int64_t value, std::uint64_t difference) {
    constexpr std::uint64_t kMost = 1U << 24;
    if (count == 0) {
      mean = value << 4;
      difference = 4;
    } else {
      mean += ((value << 4) - mean) >> 2;
    }
    sum += static_cast<std::uint32_t>(difference < kMost ? difference : kMost);
    if (++count == 32) {
      sum >>= 1;
      count >>= 1;
    }
  }
};

constexpr int kEscape = 24;  // as many ones: the value follows in kEscapeBits
constexpr int kEscapeBits = 48;

// ---- Signatures ---------------------------------------------------------------------------------

// All of an event except its times and the number of calls that it stands for.
enum Field : std::uint32_t {
  kFunctionField,
  kThreadField,
  kSiteField,
  kCommunicatorField,
  kPeerField,
  kTagField,
  kSourceField,  // of the receiving half of a call that sends, too
  kSourceTagField,
  kSentField,
  kReceivedField,
  kFlagsField,
  kListField,
  kFields
};

enum Flag : std::int64_t {
  kBegins = 1,    // the call began a request
  kFolded = 2,    // it stands for several calls, whose number follows
  kPosted = 4,    // `received` is the room that was offered; the bytes are known on completion
  kBothWays = 8,  // it sends, too: source and tag of the receive have fields of their own
};

struct Signature {
  std::int64_t field[kFields] = {};
  friend bool operator==(const Signature& a, const Signature& b) {
    return std::memcmp(a.field, b.field, sizeof a.field) == 0;
  }
};

constexpr std::uint32_t kSignatures = 1U << 12;
constexpr std::uint32_t kLists = 1U << 12;        // of completed requests; list 0 is empty
constexpr std::uint32_t kListWords = 1U << 17;    // of all lists together
constexpr std::uint32_t kLongestList = 1U << 14;  // completions; longer ones take several events
constexpr std::uint32_t kThreads = 1U << 10;
constexpr std::uint32_t kContexts = 1U << 13;
constexpr std::uint32_t kPredictions = 1U << 13;
constexpr std::uint16_t kNone = 0xffff;

// Which signature follows those before it: by the last six, and by the last two.
struct Predictor {
  std::uint16_t by_six[kPredictions] = {};
  std::uint16_t by_two[kPredictions] = {};
  std::uint16_t last[6] = {};

  void reset() { std::memset(this, 0xff, sizeof *this); }
  [[nodiscard]] std::uint32_t place_six() const {
    std::uint32_t hash = 0;
    for (const std::uint16_t one : last) hash = (hash + one) * 0x9e3779b1U;
    return hash >> 19;
  }
  [[nodiscard]] std::uint32_t place_two() const { return pair(last[1], last[0]); }
  [[nodiscard]] static std::uint32_t pair(std::uint32_t before, std::uint32_t signature) {
    return ((before * 0x85ebca6bU + signature) * 0x9e3779b1U) >> 19;
  }
  void update(std::uint16_t signature, std::uint32_t six, std::uint32_t two) {
    by_six[six] = signature;
    by_two[two] = signature;
    for (int i = 5; i > 0; --i) last[i] = last[i - 1];
    last[0] = signature;
  }
};

// The state that writer and decoder keep in step.
struct Model {
  Predictor predictor;
  Context gaps[kContexts] = {};       // by the pair of signatures
  Context durations[kContexts] = {};  // by the pair of signatures, too
  Signature signatures[kSignatures] = {};
  std::int64_t words[kListWords] = {};
  std::uint32_t list_begin[kLists + 1] = {};
  std::uint32_t signature_count = 0;
  std::uint32_t list_count = 0;

  void reset() {
    predictor.reset();
    for (Context& one : gaps) one = Context{};
    for (Context& one : durations) one = Context{};
    signature_count = 0;
    list_begin[0] = list_begin[1] = 0;
    list_count = 1;
  }
  [[nodiscard]] Signature base() const {
    const std::uint16_t guess = predictor.by_two[predictor.place_two()];
    if (guess != kNone) return signatures[guess];
    return predictor.last[0] != kNone ? signatures[predictor.last[0]] : Signature{};
  }
};

// ---- Blocks -------------------------------------------------------------------------------------

constexpr char kMagic[] = "assay-trace 2\n";
constexpr int kVersion = 2;

inline std::uint32_t checksum(const std::uint8_t* bytes, std::size_t length) {  // FNV-1a
  std::uint32_t hash = 0x811c9dc5U;
  for (std::size_t i = 0; i < length; ++i) hash = (hash ^ bytes[i]) * 0x01000193U;
  return hash;
}

}  // namespace assay::trace
