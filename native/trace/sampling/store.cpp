#include "sampling/store.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "events/format.hpp"
#include "files/message.hpp"

namespace assay::trace {
namespace {

constinit SampleStore the_store;

constexpr char kSampleMagic[] = "assay-samples 1\n";
// Maximum loss when the program is killed, ns before its last sample: an eighth of the time since
// the first one, within these limits. Short processes are often killed.
constexpr std::uint64_t kLeastPeriod = 50'000'000, kMostPeriod = 1'000'000'000, kParts = 8;
constexpr int kMostFiles = 10'000;              // of one process number
constexpr std::uint32_t kMostNames = 1U << 23;  // bytes

std::uint64_t hash_of(const Stack& stack) {
  std::uint64_t hash = stack.cut ? 0x27d4eb2f165667c5ULL : 0;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    hash = (hash ^ stack.frames[i]) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return hash ? hash : 1;
}

std::uint64_t period_after(std::uint64_t time) {
  const std::uint64_t part = time / kParts;
  return part < kLeastPeriod ? kLeastPeriod : part > kMostPeriod ? kMostPeriod : part;
}

std::uint32_t room_for(const Stack& stack) { return 8 + 8 * stack.count; }

// Sets memory of this library to 0. Whole pages are given back, so that a child that was forked
// doesn't copy them: they hold no initial data, since other variables lie on both sides.
void erase(void* from, std::size_t size) {
  constexpr std::uintptr_t kPage = 1U << 16;  // the largest of Linux
  const auto begin = reinterpret_cast<std::uintptr_t>(from), end = begin + size;
  const std::uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
  if (first < last && madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) == 0) {
    memset(from, 0, first - begin);
    memset(reinterpret_cast<void*>(last), 0, end - last);
  } else {
    memset(from, 0, size);
  }
}

}  // namespace

SampleStore& sample_store() { return the_store; }

// A handler may have interrupted the thread that holds the lock.
bool SampleStore::lock() noexcept {
  for (int i = 0; i < 2000; ++i) {
    if (!busy_.test_and_set(std::memory_order_acquire)) return true;
    if (i % 100 == 99) sched_yield();
  }
  return false;
}

void SampleStore::unlock() noexcept { busy_.clear(std::memory_order_release); }

// Equal stacks are found by a hash of 64 bits: among 10^5 stacks, two different ones have the same
// hash with a probability of 3e-10. When the table is full, all stacks are forgotten.
std::int64_t SampleStore::number_of(const Stack& stack, Pending& to) noexcept {
  const std::uint64_t hash = hash_of(stack);
  if (old_stacks_.exchange(false) || known_count_ > kKnown / 4 * 3) forget_stacks();
  for (std::uint64_t place = hash;; ++place) {
    Known& slot = known_[place % kKnown];
    if (slot.hash == hash) return slot.number;
    if (slot.hash != 0) continue;
    if (to.stack_bytes + room_for(stack) > kStackBytes) return -1;
    const std::uint32_t head[] = {stacks_, stack.count | (stack.cut ? 1U << 31 : 0)};
    memcpy(to.stacks + to.stack_bytes, head, sizeof head);
    memcpy(to.stacks + to.stack_bytes + sizeof head, stack.frames, 8 * stack.count);
    to.stack_bytes += room_for(stack);
    slot = {hash, stacks_++};
    ++known_count_;
    return slot.number;
  }
}

bool SampleStore::add(std::uint64_t time, std::uint32_t thread, Activity activity,
                      const Stack& stack, const Counted& counted) noexcept {
  if (!lock()) return false;
  Pending& to = pending_[active_];
  std::int64_t number = -1;
  if (!closed_ && to.count < kSamples) number = number_of(stack, to);
  if (number >= 0) {
    if (const std::uint32_t events = counters()) {
      std::uint64_t* place = to.counted + to.count * (2 + events);
      *place++ = counted.enabled;
      *place++ = counted.running;
      memcpy(place, counted.values, events * sizeof *place);
    }
    to.samples[to.count++] = {time, static_cast<std::uint32_t>(number),
                              thread | static_cast<std::uint32_t>(activity) << 24};
    used_.store(true, std::memory_order_relaxed);
  }
  if (flushed_ == 0) began_ = flushed_ = time;
  const bool due = to.count > kSamples / 4 * 3 || to.stack_bytes > kStackBytes / 4 * 3 ||
                   time - flushed_ > period_after(time - began_);
  if (due) flushed_ = time;
  unlock();
  if (due) flush(false);
  return number >= 0;
}

void SampleStore::note(const char* format, ...) noexcept {
  if (!lock()) return;
  Pending& to = pending_[active_];
  va_list arguments;
  va_start(arguments, format);
  const int length =
      vsnprintf(to.notes + to.note_bytes, kNoteBytes - to.note_bytes, format, arguments);
  va_end(arguments);
  if (length > 0 && static_cast<std::uint32_t>(length) < kNoteBytes - to.note_bytes) {
    to.note_bytes += static_cast<std::uint32_t>(length);
  }
  const bool due = to.note_bytes > kNoteBytes / 2;
  unlock();
  if (due) flush(false);
}

bool SampleStore::append(const char* text, std::uint32_t size) noexcept {
  if (!lock()) return false;
  Pending& to = pending_[active_];
  const bool fits = !closed_ && size <= kNoteBytes - to.note_bytes;
  if (fits) {
    memcpy(to.notes + to.note_bytes, text, size);
    to.note_bytes += size;
  }
  const bool due = to.note_bytes > kNoteBytes / 2;
  unlock();
  if (due) flush(false);
  return fits;
}

void SampleStore::doubt(const char* text, int problem) noexcept {
  char quoted[512];
  quote(text, quoted, sizeof quoted);
  note("{\"type\":\"doubt\",\"text\":\"%s\",\"problem\":\"%s\"}\n", quoted,
       problem ? strerror(problem) : "");
  used_ = true;
}

void SampleStore::flush(bool wait) noexcept {
  if (!used_) return;  // what describes the process stays pending
  for (int i = 0; writing_.exchange(true, std::memory_order_acquire); ++i) {
    if (!wait || i > 1000) return;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  if (lock()) {
    Pending& from = pending_[active_];
    active_ = 1 - active_;
    unlock();
    write(from);
  }
  writing_.store(false, std::memory_order_release);
}

bool SampleStore::finish() noexcept {
  flush(true);
  if (lock()) {
    closed_ = true;
    unlock();
  }
  flush(true);
  write_names();
  file_.close();
  return file_.problem() == 0;
}

void SampleStore::say_problem() const noexcept {
  say("The samples of this process can't be written to", path_, file_.problem());
}

// ---- The file -----------------------------------------------------------------------------------

void SampleStore::prepare() noexcept {
  const char* folder = getenv("ASSAY_PROFILE_DIR");
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  for (char* one = host; *one; ++one) {
    if (*one == '/') *one = '_';
  }
  stem_length_ = snprintf(stem_, sizeof stem_, "%s/process-%s-", folder ? folder : "", host);
  if (!folder) stem_length_ = -1;
  name_process();
  TraceFile::reserve();
}

void SampleStore::name_process() noexcept {
  const std::size_t used = stem_length_ < 0 ? sizeof stem_ : static_cast<std::size_t>(stem_length_);
  const std::size_t room = used < sizeof stem_ ? sizeof stem_ - used : 0;
  const int length = room ? snprintf(stem_ + used, room, "%d", getpid()) : -1;
  if (length < 0 || static_cast<std::size_t>(length) >= room) stem_[0] = 0;
}

void SampleStore::forget_stacks() noexcept {
  if (known_count_ > 0) erase(known_, sizeof known_);
  known_count_ = 0;
}

void SampleStore::forget() noexcept {
  busy_.clear();
  writing_ = used_ = false;
  closed_ = opened_ = false;
  active_ = 0;
  began_ = flushed_ = 0;
  stacks_ = 0;
  code_.forget();
  forget_stacks();
  for (Pending& one : pending_) one.count = one.stack_bytes = one.note_bytes = 0;
  file_.forget();
  name_process();
}

bool SampleStore::open() noexcept {
  if (opened_ || !stem_[0]) return file_.writing();
  opened_ = true;
  for (int i = 1; i <= kMostFiles; ++i) {
    char suffix[16] = {};
    if (i > 1) snprintf(suffix, sizeof suffix, "-%d", i);
    snprintf(path_, sizeof path_, "%s%s.samples", stem_, suffix);
    if (file_.open(path_, kSampleMagic, O_EXCL) || file_.problem() != EEXIST) break;
  }
  return file_.writing();
}

void SampleStore::write(Pending& from) noexcept {
  if (open()) {
    file_.block('M', from.notes, from.note_bytes);
    if (old_code_.exchange(false)) code_.forget();
    if (from.stack_bytes > 0) {  // and so at least one sample
      const std::uint64_t newest = from.samples[from.count - 1].time;
      file_.block('P', text_,
                  code_.lines(text_, sizeof text_, from.stacks, from.stack_bytes, newest));
    }
    file_.block('K', from.stacks, from.stack_bytes);
    if (const std::uint32_t events = counters()) {
      file_.block('C', from.counted,
                  from.count * (2 + events) * static_cast<std::uint32_t>(sizeof(std::uint64_t)));
    }
    file_.block('S', from.samples, from.count * static_cast<std::uint32_t>(sizeof(Sample)));
  }
  from.count = from.stack_bytes = from.note_bytes = 0;
}

// Compilers at run time name their code in the file that perf reads, /tmp/perf-PID.map.
void SampleStore::write_names() noexcept {
  if (!file_.writing()) return;
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
  const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return;
  struct stat status{};
  const bool mine =
      fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  for (std::uint32_t written = 0; mine && written < kMostNames;) {
    const ssize_t count = read(file, text_, sizeof text_);
    if (count <= 0) break;
    file_.block('J', text_, static_cast<std::uint32_t>(count));
    written += static_cast<std::uint32_t>(count);
  }
  ::close(file);
  // Python made it because assay asked for it.
  if (mine && getenv("ASSAY_SAMPLE_PYTHON")) unlink(path);
}

void quote(const char* text, char* to, std::size_t size) noexcept {
  std::size_t used = 0;
  for (; *text && used + 8 < size; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    used += static_cast<std::size_t>(snprintf(to + used, size - used,
                                              c == '"' || c == '\\'   ? "\\%c"
                                              : c < 0x20 || c >= 0x7f ? "\\u%04x"
                                                                      : "%c",
                                              c));
  }
  to[used < size ? used : size - 1] = 0;
}

}  // namespace assay::trace
