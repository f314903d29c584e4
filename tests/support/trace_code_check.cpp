// Codes random events, decodes them and compares; then decodes damaged bytes, which must not write
// outside the columns (it is compiled with sanitizers). Prints "ok", or what differs.
#include <cstdio>
#include <random>
#include <vector>

#include "decoder/decoder.cpp"
#include "events/encoder.hpp"

using namespace assay::trace;

namespace {

struct Wanted {
  Event event;
  std::vector<Completion> completions;
};

struct Decoded {
  explicit Decoded(std::size_t events, std::size_t requests, std::size_t completions)
      : i64(5, std::vector<std::int64_t>(events)),
        i32(4, std::vector<std::int32_t>(events)),
        u32(3, std::vector<std::uint32_t>(events)),
        u16(2, std::vector<std::uint16_t>(events)),
        start(events + 1),
        done(completions),
        row(requests),
        room(requests) {}
  Columns columns() {
    return {i64[0].data(), i64[1].data(), u16[0].data(), u32[0].data(), u32[1].data(),
            i32[0].data(), i32[1].data(), i32[2].data(), i32[3].data(), i64[2].data(),
            i64[3].data(), i64[4].data(), start.data(),  done.data(),   u32[2].data(),
            u16[1].data(), row.data(),    room.data()};
  }
  std::vector<std::vector<std::int64_t>> i64;
  std::vector<std::vector<std::int32_t>> i32;
  std::vector<std::vector<std::uint32_t>> u32;
  std::vector<std::vector<std::uint16_t>> u16;
  std::vector<std::int64_t> start, done, row, room;
};

#define CHECK(condition)                                              \
  if (!(condition)) {                                                 \
    std::printf("line %d, event %zu: " #condition "\n", __LINE__, i); \
    return 1;                                                         \
  }

int round_trip(unsigned seed, int variety, std::size_t count, int damages) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  static Encoder encoder;
  encoder.reset();
  std::vector<Wanted> wanted;
  std::vector<std::uint8_t> bytes;
  std::vector<Block> blocks(1, Block{});
  std::uint64_t time[4] = {};
  std::int64_t begun = 0;
  std::vector<std::int64_t> open;
  std::size_t completions = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Wanted one;
    auto& field = one.event.signature.field;
    field[kFunctionField] = below(9);
    field[kThreadField] = below(4);
    field[kSiteField] = below(static_cast<std::uint64_t>(variety));
    field[kCommunicatorField] = below(3) ? 0 : 0xffff;
    field[kPeerField] = below(5) - 3;
    field[kTagField] = below(3) - 1;
    field[kSourceField] = field[kSourceTagField] = -1;
    field[kSentField] = below(4) ? 0 : static_cast<std::int64_t>(1) << below(40);
    std::int64_t flags = 0;
    if (below(3) == 0) flags |= kBegins;
    if (below(9) == 0) flags |= kFolded;
    field[kFlagsField] = flags;
    one.event.calls = flags & kFolded ? 1 + random() % 5000000 : 1;
    std::uint64_t& now = time[field[kThreadField]];
    one.event.begin = now + (random() >> (24 + below(40)));
    one.event.end = now = one.event.begin + (random() >> (24 + below(40)));
    while (!open.empty() && below(3) == 0) {
      const std::size_t which = random() % open.size();
      Completion done;
      done.age = begun + (flags & kBegins) - open[which];
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(which));
      if (below(4) == 0) {
        done.actual = true;
        done.source = below(100) - 3;
        done.tag = below(1000);
        done.bytes = below(1 << 30);
      }
      one.completions.push_back(done);
    }
    one.event.completions = one.completions.data();
    one.event.completion_count = static_cast<std::uint32_t>(one.completions.size());
    encoder.add(one.event);
    if (flags & kBegins) open.push_back(begun++);
    completions += one.completions.size();
    Block& block = blocks.back();
    ++block.events;
    block.requests += (flags & kBegins) != 0;
    block.completions += one.completions.size();
    wanted.push_back(std::move(one));
    if (encoder.pending() > 5000 || i + 1 == count) {
      std::uint32_t length = 0;
      const std::uint8_t* payload = encoder.take(&length);
      block.offset = bytes.size();
      block.length = length;
      bytes.insert(bytes.end(), payload, payload + length);
      blocks.emplace_back();
    }
  }
  blocks.pop_back();
  const auto requests = static_cast<std::size_t>(begun);
  Decoded found(count, requests, completions);
  Columns columns = found.columns();
  std::size_t i = 0;
  const auto decoded =
      assay_decode(bytes.data(), blocks.data(), static_cast<std::int64_t>(blocks.size()), &columns);
  CHECK(decoded == static_cast<std::int64_t>(blocks.size()));
  std::vector<std::int64_t> row(requests);
  for (std::int64_t request = 0; i < count; ++i) {
    const Event& event = wanted[i].event;
    const auto& field = event.signature.field;
    CHECK(columns.function[i] == field[kFunctionField]);
    CHECK(columns.site[i] == field[kSiteField]);
    CHECK(columns.communicator[i] == field[kCommunicatorField]);
    CHECK(columns.sent[i] == field[kSentField]);
    CHECK(columns.count[i] == event.calls);
    CHECK(columns.request[i] == (field[kFlagsField] & kBegins ? request++ : -1));
    const auto error = [](std::int64_t a, std::uint64_t b) {
      return std::abs(a - static_cast<std::int64_t>(b));
    };
    CHECK(error(columns.begin[i], event.begin) <= 512);
    CHECK(error(columns.end[i], event.end) <= 512);
    CHECK(columns.completed_start[i + 1] - columns.completed_start[i] ==
          static_cast<std::int64_t>(wanted[i].completions.size()));
    for (std::size_t k = 0; k < wanted[i].completions.size(); ++k) {
      const Completion& one = wanted[i].completions[k];
      const auto done =
          columns.completed_request[columns.completed_start[i] + static_cast<std::int64_t>(k)];
      CHECK(done == request - one.age);
    }
  }
  for (int damage = 0; damage < damages; ++damage) {
    std::vector<std::uint8_t> damaged = bytes;
    for (int k = 0; k < 3; ++k) damaged[random() % damaged.size()] ^= 1U << below(8);
    assay_decode(damaged.data(), blocks.data(), static_cast<std::int64_t>(blocks.size()), &columns);
  }
  return 0;
}

}  // namespace

int main() {
  std::size_t i = 0;
  // Rounding, at its limits.
  for (std::uint64_t ns = 0; ns < 200000; ++ns) {
    const std::uint64_t back = nanoseconds_of(code_of(ns));
    const std::uint64_t error = back > ns ? back - ns : ns - back;
    CHECK(error <= 512 && error <= std::max<std::uint64_t>(32, ns / 100));
    CHECK(ns == 0 || code_of(ns) >= code_of(ns - 1));
  }
  if (round_trip(1, 3, 30000, 60)) return 1;
  if (round_trip(2, 60, 30000, 60)) return 1;
  if (round_trip(3, 100000, 30000, 60)) return 1;
  if (round_trip(4, 1, 1, 0)) return 1;
  std::puts("ok");
}
