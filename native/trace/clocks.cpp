#include "clocks.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "call.hpp"
#include "events/tracer.hpp"
#include "profile.hpp"

namespace assay::trace {
namespace {

constexpr int kTag = 1;
constexpr int kExchanges = 20;
// Seconds between comparisons while the program runs.
constexpr double kBetween = 10.0;

// The first rank of each clock takes part; ranks of one clock have none between them.
// MPI's null handle isn't known before MPI is loaded.
struct Comparison {
  bool compares = false;
  bool leads = false;  // this rank takes part
  MPI_Comm all{};
  MPI_Comm leaders{};
  int place = 0;
  int size = 0;
  std::uint64_t calls = 0;  // collectives on the world
  std::uint64_t next = 0;   // the one after which clocks are compared; 0: none
  std::uint64_t last_time = 0;
  std::uint64_t last_calls = 0;
};
constinit Comparison comparison;

// Whether the launcher has reported that all ranks are on this host, where they share a clock.
bool one_host(int size) {
  if (const char* asked = getenv("ASSAY_TRACE_COMPARE")) return strcmp(asked, "always") != 0;
  for (const char* name : {"MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_LOCAL_SIZE"}) {
    const char* value = getenv(name);
    if (value && atoi(value) == size) return true;
  }
  return size == 1;
}

// The first rank with this rank's clock.
int first_of_clock(MPI_Comm comm, int rank, int size) {
  constexpr int kText = 256;
  char mine[kText] = {};
  clock_domain(mine, sizeof mine);
  char* all = static_cast<char*>(malloc(static_cast<std::size_t>(size) * kText));
  if (!all) return rank;  // not equal on all ranks, which only makes more leaders
  ASSAY_MPI(Allgather)(mine, kText, MPI_CHAR, all, kText, MPI_CHAR, comm);
  int first = 0;
  while (first < rank && strcmp(all + static_cast<std::size_t>(first) * kText, mine) != 0) ++first;
  free(all);
  return first;
}

void begin_comparisons() {
  Comparison& mine = comparison;
  const int rank = profile().rank;
  ASSAY_MPI(Comm_dup)(MPI_COMM_WORLD, &mine.all);
  const int first = first_of_clock(mine.all, rank, profile().size);
  ASSAY_MPI(Comm_split)(mine.all, first == rank ? 0 : MPI_UNDEFINED, rank, &mine.leaders);
  char line[128];
  snprintf(line, sizeof line, "{\"type\":\"clock\",\"leader\":%d}\n", first);
  mine.compares = true;
  mine.leads = mine.leaders != MPI_COMM_NULL;
  if (mine.leads) {
    ASSAY_MPI(Comm_rank)(mine.leaders, &mine.place);
    ASSAY_MPI(Comm_size)(mine.leaders, &mine.size);
  }
  // Also known to the others, for the number of clocks.
  int size = mine.size;
  ASSAY_MPI(Bcast)(&size, 1, MPI_INT, 0, mine.all);
  mine.size = size;
  Store::Lock lock(store());
  tracer().clock(line);
}

// How far the parent's clock is ahead: the exchange with the shortest round trip (Cristian 1989).
void ask(int parent) {
  std::uint64_t best = ~0ULL, at = 0;
  std::int64_t ahead = 0;
  for (int i = 0; i < kExchanges; ++i) {
    std::uint64_t remote = 0;
    const std::uint64_t sent = now();
    ASSAY_MPI(Send)(nullptr, 0, MPI_UINT64_T, parent, kTag, comparison.leaders);
    ASSAY_MPI(Recv)(&remote, 1, MPI_UINT64_T, parent, kTag, comparison.leaders, MPI_STATUS_IGNORE);
    const std::uint64_t trip = now() - sent;
    if (trip >= best) continue;
    best = trip;
    at = sent + trip / 2;
    ahead = static_cast<std::int64_t>(remote) - static_cast<std::int64_t>(at);
  }
  int world = 0;
  MPI_Group leaders = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  ASSAY_MPI(Comm_group)(comparison.leaders, &leaders);
  ASSAY_MPI(Comm_group)(MPI_COMM_WORLD, &all);
  ASSAY_MPI(Group_translate_ranks)(leaders, 1, &parent, all, &world);
  ASSAY_MPI(Group_free)(&leaders);
  ASSAY_MPI(Group_free)(&all);
  char line[192];
  snprintf(line, sizeof line,
           "{\"type\":\"offset\",\"to\":%d,\"at\":%llu,\"ahead\":%lld,\"round_trip\":%llu}\n",
           world, static_cast<unsigned long long>(at), static_cast<long long>(ahead),
           static_cast<unsigned long long>(best));
  Store::Lock lock(store());
  tracer().clock(line);
}

void serve(int child) {
  for (int i = 0; i < kExchanges; ++i) {
    ASSAY_MPI(Recv)(nullptr, 0, MPI_UINT64_T, child, kTag, comparison.leaders, MPI_STATUS_IGNORE);
    const std::uint64_t here = now();
    ASSAY_MPI(Send)(&here, 1, MPI_UINT64_T, child, kTag, comparison.leaders);
  }
}

// Every edge of a binomial tree over the leaders, all edges of a level at a time (Hunold &
// Carpen-Amarie, Hierarchical clock synchronization in MPI, CLUSTER 2018).
void compare() {
  Comparison& mine = comparison;
  if (mine.leads) {
    for (int level = 1; level < mine.size; level *= 2) {
      if (mine.place != 0 && (mine.place & -mine.place) == level) ask(mine.place - level);
      if (mine.place % (2 * level) == 0 && mine.place + level < mine.size) {
        serve(mine.place + level);
      }
    }
  }
  // Rank 0 decides when the next comparison is, as a number of collectives.
  const std::uint64_t time = now();
  const std::uint64_t calls = mine.calls - mine.last_calls;
  const double rate = time > mine.last_time && mine.last_time && calls
                          ? static_cast<double>(calls) / static_cast<double>(time - mine.last_time)
                          : 0.0;
  const auto wait = static_cast<std::uint64_t>(1e9 * kBetween * rate);
  std::uint64_t next = mine.calls + (rate == 0.0 ? 16 : wait ? wait : 1);
  ASSAY_MPI(Bcast)(&next, 1, MPI_UINT64_T, 0, mine.all);
  mine.next = next;
  mine.last_time = time;
  mine.last_calls = mine.calls;
}

}  // namespace

void clock_domain(char* text, std::size_t size) noexcept {
  char boot[64] = {}, space[64] = {};
  const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file >= 0 ? read(file, boot, sizeof boot - 1) : 0;
  if (file >= 0) close(file);
  if (length <= 0) snprintf(boot, sizeof boot, "process %d", getpid());
  boot[strcspn(boot, "\n")] = 0;
  if (readlink("/proc/self/ns/time", space, sizeof space - 1) < 0) space[0] = 0;
  const char* injected = getenv("ASSAY_TRACE_CLOCK");
  snprintf(text, size, "%s %s%s%s", boot, space, injected ? " " : "", injected ? injected : "");
}

void compare_clocks(bool first) noexcept {
  if (!profile().has_world) return;
  if (first) {
    if (one_host(profile().size)) return;
    begin_comparisons();
  }
  if (comparison.compares && comparison.size > 1) compare();
}

void after_world_collective() noexcept {
  if (comparison.next != 0 && ++comparison.calls == comparison.next) compare();
}

void end_clocks() noexcept {
  if (comparison.leads) ASSAY_MPI(Comm_free)(&comparison.leaders);
  if (comparison.compares) ASSAY_MPI(Comm_free)(&comparison.all);
  comparison = Comparison{};
}

}  // namespace assay::trace
