#include "alone.hpp"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "profile.hpp"

namespace assay::trace {
namespace {

// The token is a name of the abstract socket namespace, which one process of a host can bind. The
// kernel frees it when its holder ends, however it ends. Waiting can't last for ever: it ends with
// the time for turns. A rank waits as MPI does, without rest: its core stays busy, so the clocks of
// the others and what they share with it are as in other launches, except for memory.
constexpr std::uint64_t kPause = 10'000;  // nanoseconds between two attempts

struct Turns {
  bool asked = false;  // whether the variable was read
  double seconds = 0.0;
  std::uint64_t until = 0;
  int token = -1;
};
constinit Turns the_turns;

void ask() {
  Turns& mine = the_turns;
  mine.asked = true;
  const char* text = getenv("ASSAY_PROFILE_ALONE");
  // Threads that call MPI at the same time would need a token each.
  if (!text || profile().level == MPI_THREAD_MULTIPLE) return;
  mine.seconds = std::clamp(strtod(text, nullptr), 0.0, 1e6);
  mine.until = profile().begin + static_cast<std::uint64_t>(1e9 * mine.seconds);
}

sockaddr_un token_name(socklen_t* length) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::uint64_t hash = 14695981039346656037ULL;  // FNV-1a, of a path that may be too long
  const char* folder = getenv("ASSAY_PROFILE_DIR");
  for (const char* c = folder ? folder : ""; *c; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 1099511628211ULL;
  }
  const int used = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "assay-alone-%016llx",
                            static_cast<unsigned long long>(hash));
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + std::size_t(used));
  return name;
}

}  // namespace

void take_token() noexcept {
  Turns& mine = the_turns;
  if (profile().cost == 0) return;  // MPI_Init measures it by calls of its own
  if (!mine.asked) ask();
  if (mine.until == 0 || mine.token >= 0 || now() >= mine.until) return;
  socklen_t length = 0;
  const sockaddr_un name = token_name(&length);
  const int token = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (token < 0) {
    mine.until = 0;
    return;
  }
  while (bind(token, reinterpret_cast<const sockaddr*>(&name), length) != 0) {
    if (now() >= mine.until) {
      close(token);
      return;
    }
    const std::uint64_t next = now() + kPause;
    while (now() < next) {
    }
  }
  mine.token = token;
}

void give_token() noexcept {
  Turns& mine = the_turns;
  if (mine.token < 0) return;
  close(mine.token);
  mine.token = -1;
}

double alone_seconds() noexcept { return the_turns.until == 0 ? 0.0 : the_turns.seconds; }

}  // namespace assay::trace
