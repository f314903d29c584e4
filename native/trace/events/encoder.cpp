#include "events/encoder.hpp"

namespace assay::trace {
namespace {

std::uint64_t hash_of(const std::int64_t* words, std::uint32_t count) {
  std::uint64_t hash = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    hash = (hash ^ static_cast<std::uint64_t>(words[i])) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

void Encoder::reset() {
  model_.reset();
  std::memset(ends_, 0, sizeof ends_);
  std::memset(by_hash_, 0xff, sizeof by_hash_);
  std::memset(lists_by_hash_, 0xff, sizeof lists_by_hash_);
  held_ = 0;
  held_bits_ = 0;
  used_ = 0;
}

void Encoder::bits(std::uint64_t value, int count) {
  held_ |= value << held_bits_;
  held_bits_ += count;
  while (held_bits_ >= 8) {
    buffer_[used_++] = static_cast<std::uint8_t>(held_);
    held_ >>= 8;
    held_bits_ -= 8;
  }
}

// Groups of four bits: three of the value, the lowest first, and whether another group follows.
void Encoder::number(std::uint64_t value) {
  do {
    bits((value & 7) | (value > 7 ? 8 : 0), 4);
    value >>= 3;
  } while (value);
}

void Encoder::timed(Context& context, std::uint64_t code) {
  const std::int64_t value = static_cast<std::int64_t>(code);
  const std::uint64_t difference = zigzag(value - context.predicted());
  const int k = context.parameter();
  const std::uint64_t high = difference >> k;
  if (high < kEscape) {
    bits((std::uint64_t{1} << high) - 1, static_cast<int>(high) + 1);
    bits(difference & ((std::uint64_t{1} << k) - 1), k);
  } else {
    bits((std::uint64_t{1} << kEscape) - 1, kEscape);
    bits(code & ((std::uint64_t{1} << kEscapeBits) - 1), kEscapeBits);
  }
  context.update(value, difference);
}

// The words of the event's completions are left in `scratch_`. -1: there is no such list.
std::int32_t Encoder::find_list(std::uint32_t words) const {
  if (words == 0) return 0;
  for (std::uint64_t place = hash_of(scratch_, words);; ++place) {
    const std::uint16_t slot = lists_by_hash_[place % (2 * kLists)];
    if (slot == kNone) return -1;
    const std::uint32_t begin = model_.list_begin[slot];
    if (model_.list_begin[slot + 1] - begin == words &&
        std::memcmp(model_.words + begin, scratch_, words * sizeof *scratch_) == 0) {
      return slot;
    }
  }
}

std::int32_t Encoder::find(const Signature& signature) const {
  for (std::uint64_t place = hash_of(signature.field, kFields);; ++place) {
    const std::uint16_t slot = by_hash_[place % (2 * kSignatures)];
    if (slot == kNone) return -1;
    if (model_.signatures[slot] == signature) return slot;
  }
}

void Encoder::signature_of(const Event& event, std::uint16_t* found) {
  std::uint32_t words = 0;
  for (std::uint32_t i = 0; i < event.completion_count; ++i) {
    const Completion& one = event.completions[i];
    scratch_[words++] = one.age << 1 | one.actual;
    if (!one.actual) continue;
    scratch_[words++] = one.source;
    scratch_[words++] = one.tag;
    scratch_[words++] = one.bytes;
  }
  std::int32_t list = find_list(words);
  Signature wanted = event.signature;
  const std::uint32_t six = model_.predictor.place_six(), two = model_.predictor.place_two();
  const std::uint16_t guesses[] = {model_.predictor.by_six[six], model_.predictor.by_two[two]};
  if (list >= 0) {
    wanted.field[kListField] = list;
    for (int i = 0; i < 2; ++i) {
      if (guesses[i] == kNone || !(model_.signatures[guesses[i]] == wanted)) continue;
      bits(std::uint64_t{1} << i, i + 1);  // 1, or 0 and 1
      *found = guesses[i];
      model_.predictor.update(*found, six, two);
      return;
    }
    const std::int32_t known = find(wanted);
    if (known >= 0) {
      bits(4, 3);
      bits(static_cast<std::uint64_t>(known), std::bit_width(model_.signature_count - 1));
      *found = static_cast<std::uint16_t>(known);
      model_.predictor.update(*found, six, two);
      return;
    }
  }
  bits(0, 3);
  const bool full = model_.signature_count == kSignatures || model_.list_count == kLists ||
                    model_.list_begin[model_.list_count] + words > kListWords;
  bits(full, 1);
  if (full) {
    model_.reset();
    std::memset(by_hash_, 0xff, sizeof by_hash_);
    std::memset(lists_by_hash_, 0xff, sizeof lists_by_hash_);
    if (words) list = -1;
  }
  *found = define(event, wanted, list);
  model_.predictor.update(*found, model_.predictor.place_six(), model_.predictor.place_two());
}

// A new signature, as its differences from the one that was expected; then its list, if that is
// new.
std::uint16_t Encoder::define(const Event& event, Signature signature, std::int32_t list) {
  const bool new_list = list < 0;
  signature.field[kListField] = new_list ? model_.list_count : list;
  const Signature base = model_.base();
  std::uint64_t mask = 0;
  for (std::uint32_t i = 0; i < kFields; ++i) {
    if (signature.field[i] != base.field[i]) mask |= std::uint64_t{1} << i;
  }
  bits(mask, kFields);
  for (std::uint32_t i = 0; i < kFields; ++i) {
    if (mask >> i & 1) number(zigzag(signature.field[i] - base.field[i]));
  }
  if (new_list) {
    number(event.completion_count);
    std::uint32_t words = 0;
    for (std::uint32_t i = 0; i < event.completion_count; ++i) {
      const Completion& one = event.completions[i];
      number(static_cast<std::uint64_t>(scratch_[words++]));
      if (!one.actual) continue;
      for (int k = 0; k < 3; ++k) number(zigzag(scratch_[words++]));
    }
    const std::uint32_t begin = model_.list_begin[model_.list_count];
    std::memcpy(model_.words + begin, scratch_, words * sizeof *scratch_);
    std::uint64_t place = hash_of(scratch_, words);
    while (lists_by_hash_[place % (2 * kLists)] != kNone) ++place;
    lists_by_hash_[place % (2 * kLists)] = static_cast<std::uint16_t>(model_.list_count++);
    model_.list_begin[model_.list_count] = begin + words;
  }
  const auto made = static_cast<std::uint16_t>(model_.signature_count++);
  model_.signatures[made] = signature;
  std::uint64_t place = hash_of(signature.field, kFields);
  while (by_hash_[place % (2 * kSignatures)] != kNone) ++place;
  by_hash_[place % (2 * kSignatures)] = made;
  return made;
}

void Encoder::add(const Event& event) {
  const std::uint16_t before = model_.predictor.last[0];
  std::uint16_t found = 0;
  signature_of(event, &found);
  const std::uint32_t context = Predictor::pair(before, found);
  if (event.signature.field[kFlagsField] & kFolded) number(event.calls);
  std::uint64_t& end = ends_[event.signature.field[kThreadField]];
  const std::uint64_t gap = code_of(event.begin > end ? event.begin - end : 0);
  timed(model_.gaps[context], gap);
  end += nanoseconds_of(gap);
  const std::uint64_t duration = code_of(event.end > end ? event.end - end : 0);
  timed(model_.durations[context], duration);
  end += nanoseconds_of(duration);
}

const std::uint8_t* Encoder::take(std::uint32_t* length) {
  if (held_bits_ > 0) bits(0, 8 - held_bits_);
  *length = used_;
  used_ = 0;
  return buffer_;
}

}  // namespace assay::trace
