#include "events/tracer.hpp"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call_site.hpp"
#include "clocks.hpp"
#include "files/message.hpp"
#include "functions.hpp"
#include "process.hpp"
#include "profile.hpp"
#include "store.hpp"

namespace assay::trace {
namespace {

constinit Tracer the_tracer;

// Maximum loss when the program is killed: ns before its last event.
constexpr std::uint64_t kPeriod = 250'000'000;
constexpr std::uint32_t kBlock = 1U << 15;
// Failed tests that follow each other within this time, ns, are one event.
constexpr std::uint64_t kLoop = 10'000;

std::uint32_t place_of(std::uint64_t key, std::uint32_t size) {
  return static_cast<std::uint32_t>((key * 0x9e3779b97f4a7c15ULL) >> 40) % size;
}

// Before MPI starts threads.
__attribute__((constructor)) void reserve_file() {
  if (Tracer::asked_for()) TraceFile::reserve();
}

}  // namespace

Tracer& tracer() { return the_tracer; }

bool Tracer::asked_for() noexcept {
  const char* wanted = getenv("ASSAY_PROFILE_TRACE");
  return wanted && strcmp(wanted, "1") == 0;
}

void Tracer::practise(std::uint64_t number) noexcept {
  if (started_) return;
  if (number == 0) encoder_.reset();
  Event event;
  event.signature.field[kTagField] = number % 4 ? 1 : 2;
  event.signature.field[kSiteField] = static_cast<std::int64_t>(number % 8);
  event.begin = 2000 * number + (number * number) % 97;
  event.end = event.begin + 500;
  encoder_.add(event);
}

void Tracer::start(std::uint64_t begin, std::uint64_t begin_wall, int rank, int size) noexcept {
  const char* stem = file_stem();
  if (started_ || !asked_for() || !stem) return;
  started_ = wanted_ = true;
  if (snprintf(path_, sizeof path_, "%s.trace", stem) >= int(sizeof path_)) return;
  encoder_.reset();
  begin_ = flushed_ = last_time_ = begin;
  if (!file_.open(path_, kMagic, O_TRUNC)) return;  // `finish` says why
  char host[256] = {}, domain[256] = {};
  gethostname(host, sizeof host - 1);
  clock_domain(domain, sizeof domain);
  print("{\"type\":\"trace\",\"version\":%d,\"rank\":%d,\"ranks\":%d,\"process\":%d,\"host\":",
        kVersion, rank, size, getpid());
  quoted(host);
  print(",\"clock\":");
  quoted(domain);
  print(",\"begin\":%llu,\"begin_wall\":%llu,%s}\n", static_cast<unsigned long long>(begin),
        static_cast<unsigned long long>(begin_wall), process_fields());
  flush(begin);
  active_ = true;
  if (!profile().on) switched(begin, false);
}

// ---- Metadata -----------------------------------------------------------------------------------

void Tracer::print(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(text_ + text_used_, sizeof text_ - text_used_, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (static_cast<std::uint32_t>(length) >= sizeof text_ - text_used_) {
    text_lost_ = true;
  } else {
    text_used_ += static_cast<std::uint32_t>(length);
  }
}

void Tracer::quoted(const char* text) noexcept {
  print("\"");
  for (; *text; ++text) {
    const auto c = static_cast<unsigned char>(*text);
    print(c == '"' || c == '\\' ? "\\%c" : c < 0x20 || c >= 0x7f ? "\\u%04x" : "%c", c);
  }
  print("\"");
}

void Tracer::metadata(const char* text) noexcept {
  if (strlen(text) + text_used_ >= sizeof text_) flush(last_time_);
  print("%s", text);
}

// The number of a file, whose name is kept.
std::int64_t Tracer::image_of(const char* name) noexcept {
  for (std::int64_t i = 0; i < image_count_ && i < kImages; ++i) {
    if (strcmp(images_[i], name) == 0) return i;
  }
  if (image_count_ < kImages) images_[image_count_] = name;
  print("{\"type\":\"image\",\"number\":%lld,\"path\":", static_cast<long long>(image_count_));
  quoted(name);
  print("}\n");
  return image_count_++;
}

std::int64_t Tracer::site(std::uint64_t address) noexcept {
  std::uint32_t place = place_of(address, kSites);
  for (std::uint32_t i = 0; i < kSites; ++i, place = (place + 1) % kSites) {
    if (sites_[place].address == address) return sites_[place].number;
    if (sites_[place].address != 0) continue;
    sites_[place] = {address, ++site_count_};
    const SiteName name = name_of(address);
    if (text_used_ > sizeof text_ / 2) flush(last_time_);
    const std::int64_t image = image_of(name.image);
    print("{\"type\":\"site\",\"number\":%lld,\"image\":%lld,\"offset\":%llu",
          static_cast<long long>(site_count_), static_cast<long long>(image),
          static_cast<unsigned long long>(name.offset));
    if (name.function) {
      print(",\"python\":");
      quoted(name.function);
    }
    print("}\n");
    return site_count_;
  }
  return 0;
}

void Tracer::function(std::int32_t function) noexcept {
  if (functions_[function]) return;
  functions_[function] = true;
  print("{\"type\":\"function\",\"number\":%d,\"name\":\"%s\"}\n", function,
        kFunctions[function].name);
}

void Tracer::switched(std::uint64_t time, bool on) noexcept {
  if (!active()) return;
  char line[96];
  snprintf(line, sizeof line, "{\"type\":\"switch\",\"at\":%llu,\"on\":%s}\n",
           static_cast<unsigned long long>(time), on ? "true" : "false");
  metadata(line);
}

// ---- Communicators ------------------------------------------------------------------------------

std::int64_t Tracer::communicator(std::uint64_t handle, std::uint32_t parent, std::int32_t made_by,
                                  const char* members, const char* remote) noexcept {
  const std::uint32_t number = communicators_++;
  if (number >= kNoCommunicator) return -1;
  char line[256];
  snprintf(line, sizeof line,
           "{\"type\":\"communicator\",\"number\":%u,\"made_by\":\"%s\",\"parent\":", number,
           kFunctions[made_by].name);
  const std::size_t length = (members ? strlen(members) : 0) + (remote ? strlen(remote) : 0);
  if (length + text_used_ + 1024 >= sizeof text_) flush(last_time_);
  if (length + 1024 >= sizeof text_) members = nullptr;
  print("%s", line);
  parent == kNoCommunicator ? print("null") : print("%u", parent);
  // An intercommunicator has no members in common with a communicator.
  print(",\"members\":%s", members && !remote ? members : "null");
  if (members && remote) print(",\"groups\":[%s,%s]", members, remote);
  print("}\n");
  alias(handle, number);
  return number;
}

std::int64_t Tracer::group(const char* members) noexcept {
  const std::size_t length = strlen(members);
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a, 64 bits
  for (std::size_t i = 0; i < length; ++i) {
    hash = (hash ^ static_cast<unsigned char>(members[i])) * 0x100000001b3ULL;
  }
  for (std::int64_t i = 0; i < group_count_; ++i) {
    if (groups_[i] == hash) return i;
  }
  if (group_count_ >= kGroups || length + 1024 >= sizeof text_) return -1;
  if (length + text_used_ + 1024 >= sizeof text_) flush(last_time_);
  print("{\"type\":\"group\",\"number\":%lld,\"members\":%s}\n",
        static_cast<long long>(group_count_), members);
  groups_[group_count_] = hash;
  return group_count_++;
}

void Tracer::alias(std::uint64_t handle, std::uint32_t number) noexcept {
  std::uint32_t place = place_of(handle, kNumbered);
  for (std::uint32_t i = 0; i < kNumbered; ++i, place = (place + 1) % kNumbered) {
    Numbered& slot = numbered_[place];
    if (slot.used && slot.handle != handle && slot.number != kNoCommunicator) continue;
    slot = {handle, number, true};
    return;
  }
}

std::uint32_t Tracer::number_of(std::uint64_t handle) const {
  std::uint32_t place = place_of(handle, kNumbered);
  for (std::uint32_t i = 0; i < kNumbered; ++i, place = (place + 1) % kNumbered) {
    const Numbered& slot = numbered_[place];
    if (!slot.used) break;
    if (slot.handle == handle && slot.number != kNoCommunicator) return slot.number;
  }
  return kNoCommunicator;
}

void Tracer::forget(std::uint64_t handle) noexcept {
  std::uint32_t place = place_of(handle, kNumbered);
  for (std::uint32_t i = 0; i < kNumbered; ++i, place = (place + 1) % kNumbered) {
    Numbered& slot = numbered_[place];
    if (!slot.used) return;
    if (slot.handle == handle) slot.number = kNoCommunicator;  // stays used for later probes
  }
}

// ---- Requests -----------------------------------------------------------------------------------

ActiveRequest* Tracer::begin_request(std::uint64_t handle) noexcept {
  ActiveRequest* added = requests_.add(handle);
  if (!added) {
    ++lost_requests_;
    return nullptr;
  }
  added->id = begun_++;
  return added;
}

// ---- Events -------------------------------------------------------------------------------------

void Tracer::add(Event event, bool failed_test) noexcept {
  if (event.signature.field[kThreadField] >= static_cast<std::int64_t>(kThreads)) {
    ++lost_events_;
    return;
  }
  if (failed_test) {
    event.signature.field[kFlagsField] |= kFolded;
    if (has_test_ && test_.signature == event.signature && event.begin - test_.end < kLoop) {
      ++test_.calls;
      test_.end = event.end;
      if (event.end - flushed_ > kPeriod) flush(event.end);
      return;
    }
    put_test();
    test_ = event;
    test_.calls = 1;
    has_test_ = true;
    return;
  }
  put_test();
  while (event.completion_count > kLongestList) {
    Event part = event;
    part.completion_count = kLongestList;
    put(part);
    event.begin = event.end;
    event.completions += kLongestList;
    event.completion_count -= kLongestList;
  }
  put(event);
}

void Tracer::put_test() noexcept {
  if (!has_test_) return;
  has_test_ = false;
  put(test_);
}

void Tracer::put(const Event& event) noexcept {
  if (!encoder_.fits(event.completion_count) || encoder_.pending() > kBlock) flush(event.begin);
  Event relative = event;
  relative.begin -= begin_;
  relative.end -= begin_;
  encoder_.add(relative);
  ++counts_.events;
  counts_.requests += (event.signature.field[kFlagsField] & kBegins) != 0;
  counts_.completions += event.completion_count;
  last_time_ = event.end;
  if (event.end - flushed_ > kPeriod) flush(event.end);
}

void Tracer::flush(std::uint64_t time) noexcept {
  flushed_ = time;
  if (text_lost_) {
    text_lost_ = false;
    while (text_used_ > 0 && text_[text_used_ - 1] != '\n') --text_used_;
  }
  file_.block('M', text_, text_used_);
  text_used_ = 0;
  std::uint32_t length = 0;
  const std::uint8_t* payload = encoder_.take(&length);
  file_.events(payload, length, counts_);
  counts_ = Counts{};
  if (!file_.writing()) active_ = false;
}

void Tracer::flush_all() noexcept {
  if (!started_) return;
  put_test();
  flush(last_time_);
}

void Tracer::finish(const char* ended, std::uint64_t end) noexcept {
  if (!started_) return;
  started_ = false;
  active_ = false;
  put_test();
  flush(last_time_);
  print(
      "{\"type\":\"end\",\"ended\":\"%s\",\"end\":%llu,\"lost_requests\":%llu,\"lost_events\":%llu}"
      "\n",
      ended, static_cast<unsigned long long>(end), static_cast<unsigned long long>(lost_requests_),
      static_cast<unsigned long long>(lost_events_));
  file_.block('M', text_, text_used_);
  const int problem = file_.problem();
  file_.close();
  if (problem) {
    char text[128];
    snprintf(text, sizeof text, "The trace stops %.3f s after the end of MPI_Init:",
             1e-9 * static_cast<double>(flushed_ - begin_));
    say(text, path_, problem);
  }
}

}  // namespace assay::trace
