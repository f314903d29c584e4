#include "sampling/python_names.hpp"

#include <errno.h>
#include <sched.h>
#include <sys/uio.h>

#include <initializer_list>

#include "sampling/store.hpp"

namespace assay::trace {
namespace {

// Functions that have a record. A code object may be freed, and another one may take its place, so
// all that names it is part of the hash.
constexpr std::uint32_t kKnown = 1U << 13;
struct Known {
  std::uint64_t hash = 0;
  std::uint32_t number = 0;
};
constexpr std::uint32_t kMostLetters = 400, kTextBytes = 12 * kMostLetters + 256;
struct Functions {
  std::atomic_flag busy;
  std::uint32_t count = 0, known = 0;
  Known table[kKnown] = {};
  std::uint8_t letters[4 * kMostLetters] = {};
  char text[kTextBytes] = {};
};
constinit Functions functions;

class Locked {  // for a limited time: a handler may have interrupted the thread that has it
 public:
  Locked() {
    for (int i = 0; i < 2000 && !has_; ++i) {
      has_ = !functions.busy.test_and_set(std::memory_order_acquire);
      if (!has_ && i % 100 == 99) sched_yield();
    }
  }
  ~Locked() {
    if (has_) functions.busy.clear(std::memory_order_release);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  explicit operator bool() const { return has_; }

 private:
  bool has_ = false;
};

// Appends a letter to a string of JSON.
std::uint32_t put(std::uint32_t letter, char* to) {
  if (letter == '"' || letter == '\\') {
    to[0] = '\\', to[1] = static_cast<char>(letter);
    return 2;
  }
  if (letter >= 0x20 && letter < 0x7f) {
    to[0] = static_cast<char>(letter);
    return 1;
  }
  if ((letter >= 0xd800 && letter < 0xe000) || letter > 0x10ffff) letter = 0xfffd;
  std::uint32_t units[2] = {letter, 0};
  if (letter > 0xffff) {
    units[0] = 0xd800 + ((letter - 0x10000) >> 10);
    units[1] = 0xdc00 + ((letter - 0x10000) & 0x3ff);
  }
  std::uint32_t used = 0;
  for (int i = 0; i < (units[1] ? 2 : 1); ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    to[used++] = '\\', to[used++] = 'u';
    for (int shift = 12; shift >= 0; shift -= 4) to[used++] = kDigits[units[i] >> shift & 15];
  }
  return used;
}

// The text of an object of Python as the inside of a string of JSON; of a long one the beginning or
// the end. How many bytes; -1: it isn't a text. Each letter takes 12 bytes at most.
int put_text(std::uint64_t object, bool end, char* to) {
  std::uint8_t head[kCompact];
  if (!read_memory(object, head, sizeof head)) return -1;
  const auto length = at<std::uint64_t>(head, kLength);
  const auto state = at<std::uint32_t>(head, kState);
  const std::uint32_t kind = state >> kKindShift & kKindMask;
  if (at<std::uint64_t>(head, kType) != interpreter.text_type || !(state & kIsCompact) ||
      length > (1U << 20) || (kind != 1 && kind != 2 && kind != 4)) {
    return -1;
  }
  const auto count =
      static_cast<std::uint32_t>(length < kMostLetters / 2 ? length : kMostLetters / 2);
  const std::uint64_t first = end ? length - count : 0;
  const std::uint64_t letters = object + (state & kIsAscii ? kAscii : kCompact) + first * kind;
  if (count > 0 && !read_memory(letters, functions.letters, std::size_t{count} * kind)) return -1;
  std::uint32_t used = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t letter = 0;
    memcpy(&letter, functions.letters + std::size_t{i} * kind, kind);
    used += put(letter, to + used);
  }
  return static_cast<int>(used);
}

std::uint32_t append(const char* from, char* to) {
  const auto size = static_cast<std::uint32_t>(strlen(from));
  memcpy(to, from, size);
  return size;
}

// Records a new function. Nothing here uses the C library's formats, which may allocate. kNothing:
// its names aren't texts.
Found record(std::uint32_t number, std::uint64_t file, std::uint64_t name) {
  char* const text = functions.text;
  char digits[16];
  std::uint32_t first = sizeof digits - 1;
  digits[first] = 0;
  do digits[--first] = static_cast<char>('0' + number % 10);
  while (number /= 10);
  std::uint32_t used = append("{\"type\":\"python\",\"number\":", text);
  used += append(digits + first, text + used);
  used += append(",\"function\":\"", text + used);
  const int function = put_text(name, false, text + used);
  if (function < 0) return Found::kNothing;
  used += static_cast<std::uint32_t>(function);
  used += append("\",\"file\":\"", text + used);
  const int path = put_text(file, true, text + used);
  if (path < 0) return Found::kNothing;
  used += static_cast<std::uint32_t>(path);
  used += append("\"}\n", text + used);
  return sample_store().append(text, used) ? Found::kFunction : Found::kBusy;
}

}  // namespace

constinit Interpreter interpreter;

bool read_memory(std::uint64_t address, void* to, std::size_t size) noexcept {
  iovec mine{to, size}, from{reinterpret_cast<void*>(address), size};
  const ssize_t count = process_vm_readv(interpreter.process, &mine, 1, &from, 1, 0);
  if (count < 0 && errno != EFAULT && errno != EIO) interpreter.problem = errno;
  return count == static_cast<ssize_t>(size);
}

Found number_of(std::uint64_t code, const Code& bytes, std::uint64_t& number) noexcept {
  const PythonLayout& layout = *interpreter.layout;
  if (at<std::uint64_t>(bytes, kType) != interpreter.code_type) return Found::kNothing;
  const auto file = at<std::uint64_t>(bytes, layout.file);
  const auto name = at<std::uint64_t>(bytes, layout.name);
  std::uint64_t hash = 0;
  for (const std::uint64_t one : {code, file, name, at<std::uint64_t>(bytes, layout.first_line)}) {
    hash = (hash ^ one) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  hash |= 1;
  const Locked locked;
  if (!locked) return Found::kBusy;
  if (functions.known > kKnown / 4 * 3) {
    for (Known& one : functions.table) one = Known{};
    functions.known = 0;
  }
  for (std::uint64_t place = hash >> 8;; ++place) {
    Known& slot = functions.table[place % kKnown];
    if (slot.hash == 0) {
      const Found found = record(functions.count, file, name);
      if (found != Found::kFunction) return found;
      slot = {hash, functions.count++};
      ++functions.known;
    }
    if (slot.hash != hash) continue;
    number = slot.number;
    return Found::kFunction;
  }
}

void forget_functions() noexcept {
  for (Known& one : functions.table) one = Known{};
  functions.count = functions.known = 0;
  functions.busy.clear(std::memory_order_release);
}

}  // namespace assay::trace
