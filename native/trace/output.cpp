// The file of the profile: docs/formats/profile.md. Written without MPI and without allocation,
// since the process may be ending for any reason.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "alone.hpp"
#include "call_site.hpp"
#include "events/tracer.hpp"
#include "files/file_limit.hpp"
#include "files/message.hpp"
#include "functions.hpp"
#include "node.hpp"
#include "process.hpp"
#include "profile.hpp"
#include "sampled.hpp"
#include "store.hpp"

namespace assay::trace {
namespace {

class File {
 public:
  explicit File(const char* path) {
    descriptor_ = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) problem_ = errno;
  }

  __attribute__((format(printf, 2, 3))) void print(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text_ + used_, sizeof text_ - used_, format, arguments);
    va_end(arguments);
    if (length > 0) used_ += static_cast<std::size_t>(length);
    if (used_ >= sizeof text_) used_ = sizeof text_ - 1;
    if (used_ > sizeof text_ / 2) flush();
  }

  void quoted(const char* text) {
    print("\"");
    for (; *text; ++text) {
      const auto c = static_cast<unsigned char>(*text);
      if (c == '"' || c == '\\') {
        print("\\%c", c);
      } else if (c < 0x20 || c >= 0x7f) {
        print("\\u%04x", c);
      } else {
        print("%c", c);
      }
    }
    print("\"");
  }

  // 0, or what went wrong.
  int finish() {
    flush();
    if (descriptor_ >= 0 && close(descriptor_) != 0 && problem_ == 0) problem_ = errno;
    return problem_;
  }

 private:
  void flush() {
    size_ += static_cast<off_t>(used_);
    if (problem_ == 0 && is_beyond_limit(size_)) problem_ = EFBIG;
    for (std::size_t done = 0; problem_ == 0 && done < used_;) {
      const ssize_t count = write(descriptor_, text_ + done, used_ - done);
      if (count > 0) done += static_cast<std::size_t>(count);
      if (count < 0 && errno != EINTR) problem_ = errno;
    }
    used_ = 0;
  }

  int descriptor_;
  int problem_ = 0;
  off_t size_ = 0;
  std::size_t used_ = 0;
  char text_[16384];
};

double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

void numbers(File& file, const Entry& entry) {
  file.print("\"calls\":%llu,\"bytes\":%llu,\"time\":%.9f,\"least\":%.9f,\"most\":%.9f",
             static_cast<unsigned long long>(entry.calls),
             static_cast<unsigned long long>(entry.bytes), seconds(entry.total),
             seconds(entry.least), seconds(entry.most));
  if (entry.failed) file.print(",\"failed\":%llu", static_cast<unsigned long long>(entry.failed));
  if (entry.device_calls) {
    file.print(",\"device_calls\":%llu,\"device_bytes\":%llu",
               static_cast<unsigned long long>(entry.device_calls),
               static_cast<unsigned long long>(entry.device_bytes));
  }
}

void write_header(File& file, const char* ended) {
  const Profile& mine = profile();
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  file.print("{\"type\":\"profile\",\"version\":1,\"rank\":");
  file.print(mine.rank < 0 ? "null" : "%d", mine.rank);
  file.print(",\"ranks\":%d,\"process\":%d,\"host\":", mine.size, mine.process);
  file.quoted(host);
  static const struct {
    int level;
    const char* name;
  } levels[] = {{MPI_THREAD_SINGLE, "single"},
                {MPI_THREAD_FUNNELED, "funneled"},
                {MPI_THREAD_SERIALIZED, "serialized"},
                {MPI_THREAD_MULTIPLE, "multiple"}};
  const char* level = "unknown";
  for (const auto& one : levels) {
    if (one.level == mine.level) level = one.name;
  }
  file.print(
      ",\"ended\":\"%s\",\"threads\":\"%s\",\"begin\":%.9f,\"begin_wall\":%.9f,\"wall\":%.9f,"
      "\"cost\":%.9f,",
      ended, level, seconds(mine.begin), seconds(mine.begin_wall), seconds(mine.end - mine.begin),
      seconds(mine.cost));
  file.print("%s,", process_fields());
  file.print("\"counted\":%.9f,", seconds(counted_time(mine.end)));
  if (const std::int64_t waited = counted_wait(); waited >= 0) {
    file.print("\"cpu_wait\":%.9f,", seconds(static_cast<std::uint64_t>(waited)));
  }
  file.print("\"runs\":%llu,\"unfinished\":%lld,\"fortran\":%s,\"complete\":%s}\n",
             static_cast<unsigned long long>(mine.runs),
             static_cast<long long>(mine.unfinished.load()), mine.fortran ? "true" : "false",
             mine.fortran && !mine.persistent_lost ? "true" : "false");
}

void write_node(File& file) {
  const NodeState& node = end_node();
  if (!node.known) return;
  file.print("{\"type\":\"node\",\"cpus\":");
  file.quoted(node.cpus);
  const auto print = [&](const char* name, std::int64_t nanoseconds) {
    if (nanoseconds < 0) return;
    file.print(",\"%s\":%.9f", name, seconds(static_cast<std::uint64_t>(nanoseconds)));
  };
  if (node.online > 0) file.print(",\"online\":%lld", static_cast<long long>(node.online));
  print("cpu_time", node.cpu_time);
  print("computing", node.computing);
  print("busy", node.busy);
  print("held", node.held);
  file.print(",\"speed_begin\":%.6g,\"speed_end\":%.6g,\"alone\":%.9f}\n", node.speed_begin,
             node.speed_end, alone_seconds());
}

void write_kinds(File& file) {
  static Entry kinds[kKinds];
  for (Entry& kind : kinds) kind = Entry{};
  for (const Entry& entry : store().entries) {
    if (entry.function < 0) continue;
    Entry& kind = kinds[kFunctions[entry.function].kind];
    kind.calls += entry.calls;
    kind.total += entry.total;
  }
  for (int i = 0; i < kKinds; ++i) {
    if (kinds[i].calls == 0) continue;
    file.print("{\"type\":\"kind\",\"kind\":\"%s\",\"calls\":%llu,\"time\":%.9f}\n", kKindNames[i],
               static_cast<unsigned long long>(kinds[i].calls), seconds(kinds[i].total));
  }
}

void write_calls(File& file) {
  for (const Entry& entry : store().entries) {
    if (entry.function < 0) continue;
    const SiteName site = name_of(entry.site);
    file.print("{\"type\":\"call\",\"function\":\"%s\",\"image\":",
               kFunctions[entry.function].name);
    file.quoted(site.image);
    file.print(",\"offset\":%llu,", static_cast<unsigned long long>(site.offset));
    if (site.function) {
      file.print("\"python\":");
      file.quoted(site.function);
      file.print(",");
    }
    file.print("\"peer\":");
    static const char* const others[] = {"\"unknown\"", "\"any\"", "\"proc_null\"", "null"};
    if (entry.peer >= 0) {
      file.print("%d", entry.peer);
    } else {
      file.print("%s", others[entry.peer - kUnknownPeer]);
    }
    file.print(",\"size_class\":%d,", entry.size_class);
    numbers(file, entry);
    file.print("}\n");
  }
  if (store().overflow.calls) {
    file.print("{\"type\":\"overflow\",");
    numbers(file, store().overflow);
    file.print("}\n");
  }
}

void write_peers(File& file) {
  const auto print = [&](const PeerBytes& one, bool other) {
    if (one.messages == 0) return;
    file.print("{\"type\":\"peer\",\"peer\":");
    file.print(other ? "null" : "%d", one.peer);
    file.print(",\"messages\":%llu,\"bytes\":%llu}\n",
               static_cast<unsigned long long>(one.messages),
               static_cast<unsigned long long>(one.bytes));
  };
  for (const PeerBytes& one : store().peers) print(one, false);
  print(store().other_peers, true);
}

void write_communicators(File& file) {
  for (std::uint32_t i = 0; i < store().used_communicators; ++i) {
    const Communicator& one = store().communicators[i];
    file.print("{\"type\":\"communicator\",\"number\":%u,\"made_by\":\"%s\",\"size\":%d,\"name\":",
               i, kFunctions[one.made_by].name, one.size);
    file.quoted(one.name);
    file.print(",\"freed\":%s}\n", one.freed ? "true" : "false");
  }
}

}  // namespace

// A signal may have interrupted the encoding of an event; then pending events are lost.
void finish_trace(const char* ended) noexcept {
  if (profile().process != getpid()) return;
  if (Store::Attempt attempt(store()); attempt.held()) tracer().finish(ended, profile().end);
}

void flush_trace() noexcept {
  if (Store::Attempt attempt(store()); attempt.held()) tracer().flush_all();
}

void say_fortran() noexcept {
  say("The calls that this program makes from Fortran can't be seen in this MPI library; the "
      "profile "
      "lacks them.",
      "", 0);
}

void write_profile(const char* ended) noexcept {
  Profile& mine = profile();
  if (!mine.alive.exchange(false)) return;
  if (mine.process != getpid()) return;  // a child that the program forked
  const char* stem = file_stem();
  if (!stem) return;
  mine.end = now();
  // Another session may begin after the last one, so the trace continues until the process ends.
  if (mine.has_sessions && strcmp(ended, "finalize") == 0) {
    flush_trace();
  } else {
    finish_trace(ended);
  }
  char path[4096], part[4112];
  if (snprintf(path, sizeof path, "%s.jsonl", stem) >= int(sizeof path)) return;
  snprintf(part, sizeof part, "%s.part", path);
  static File* file = nullptr;
  alignas(File) static char room[sizeof(File)];
  file = new (room) File(part);
  write_header(*file, ended);
  write_node(*file);
  write_kinds(*file);
  write_calls(*file);
  write_peers(*file);
  write_communicators(*file);
  file->print("{\"type\":\"end\",\"entries\":%u,\"lost_communicators\":%llu}\n",
              store().used_entries, static_cast<unsigned long long>(store().lost_communicators));
  int problem = file->finish();
  if (problem == 0 && rename(part, path) != 0) problem = errno;
  flush_sampling();
  if (problem) {
    unlink(part);
    say("The profile of this rank can't be written to", path, problem);
  }
}

}  // namespace assay::trace
