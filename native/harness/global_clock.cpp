#include "harness/global_clock.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "harness/agreement.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

constexpr int kTag = 1;
// Seconds for which fit points count: quartz keeps its rate for some ten seconds; over minutes it
// drifts with the temperature (Hunold & Carpen-Amarie, TPDS 2016).
constexpr double kEven = 30.0;
// Bytes of a path in /proc/self/ns: "time:[4026531834]".
constexpr std::size_t kLongestName = 64;

// The least significant bit: the level of the tree at which a leader exchanges messages with its
// parent.
int level_of(int place) { return place & -place; }

void pause(double span) {
  if (span <= 0.0) return;
  timespec rest{};
  rest.tv_sec = static_cast<time_t>(span);
  rest.tv_nsec = static_cast<long>(1e9 * (span - std::floor(span)));
  nanosleep(&rest, nullptr);
}

// The number of this rank's clock; clocks are numbered in the order of the first ranks that read
// them. Collective.
int number_of(MPI_Comm comm, const std::string& domain, int rank) {
  std::vector<int> numbers;
  std::map<std::string, int> known;
  for (const std::string& each : gather_texts(comm, domain)) {
    numbers.push_back(known.try_emplace(each, static_cast<int>(known.size())).first->second);
  }
  int mine = 0;
  MPI_Scatter(rank == 0 ? numbers.data() : nullptr, 1, MPI_INT, &mine, 1, MPI_INT, 0, comm);
  return mine;
}

}  // namespace

std::string clock_domain() {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  if (boot.empty()) {
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    return std::string(host) + " " + std::to_string(getpid());
  }
  // Kernels before 5.6 have neither time namespaces nor this link.
  std::array<char, kLongestName> name{};
  const ssize_t length = readlink("/proc/self/ns/time", name.data(), name.size());
  return boot + " " +
         std::string(name.data(), static_cast<std::size_t>(std::max<ssize_t>(0, length)));
}

GlobalClock::GlobalClock(MPI_Comm comm, const std::string& domain, LocalClock read,
                         const SyncEffort& effort)
    : read_(std::move(read)), effort_(effort) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  const int number = number_of(comm, domain, rank);
  int last = number;
  MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, comm);
  domains_ = last + 1;
  if (domains_ == 1) return;
  MPI_Comm_dup(comm, &all_);
  MPI_Comm_split(all_, number, rank, &sharers_);
  int seat = 0;
  MPI_Comm_rank(sharers_, &seat);
  MPI_Comm_split(all_, seat == 0 ? 0 : MPI_UNDEFINED, rank, &leaders_);
  if (leaders_ != MPI_COMM_NULL) MPI_Comm_rank(leaders_, &place_);
}

GlobalClock::~GlobalClock() {
  for (MPI_Comm* const each : {&leaders_, &sharers_, &all_}) {
    if (*each != MPI_COMM_NULL) MPI_Comm_free(each);
  }
}

ClockPoint GlobalClock::ask(int leader) const {
  std::vector<Exchange> exchanges(static_cast<std::size_t>(effort_.exchanges));
  for (Exchange& each : exchanges) {
    each.sent = read_();
    MPI_Send(nullptr, 0, MPI_INT64_T, leader, kTag, leaders_);
    MPI_Recv(&each.remote, 1, MPI_INT64_T, leader, kTag, leaders_, MPI_STATUS_IGNORE);
    each.received = read_();
  }
  return shortest(exchanges);
}

void GlobalClock::serve(int leader) const {
  for (int i = 0; i < effort_.exchanges; ++i) {
    MPI_Recv(nullptr, 0, MPI_INT64_T, leader, kTag, leaders_, MPI_STATUS_IGNORE);
    const Ticks here = read_();
    MPI_Send(&here, 1, MPI_INT64_T, leader, kTag, leaders_);
  }
}

// One fit point on every edge of the tree, level by level: a leader's parent has the same index
// without its least significant bit, and the leader queries it after serving the levels below.
void GlobalClock::pass() {
  for (int level = 1; level < domains_; level *= 2) {
    if (place_ != 0 && level_of(place_) == level) points_.push_back(ask(place_ - level));
    const bool serves = place_ % (2 * level) == 0 && place_ + level < domains_;
    if (serves) serve(place_ + level);
  }
}

// Each leader receives its parent's model, composes it with its own edge, and sends it to its
// children.
void GlobalClock::compose() {
  int level = 1;
  while (level < domains_) level *= 2;
  if (place_ != 0) {
    level = level_of(place_);
    ClockModel parent;
    MPI_Recv(&parent, sizeof parent, MPI_BYTE, place_ - level, kTag, leaders_, MPI_STATUS_IGNORE);
    model_ = composed(parent, fit(points_));
  }
  for (level /= 2; level > 0; level /= 2) {
    if (place_ + level >= domains_) continue;
    MPI_Send(&model_, sizeof model_, MPI_BYTE, place_ + level, kTag, leaders_);
  }
}

void GlobalClock::synchronise() {
  if (domains_ == 1) return;
  if (leaders_ != MPI_COMM_NULL) {
    // Rank 0 decides how many old points are dropped, and how many new ones are taken.
    int counts[2] = {0, 1};
    if (place_ == 0) {
      const Ticks oldest = ticks() - static_cast<Ticks>(1e9 * kEven);
      const auto fresh = std::lower_bound(passes_.begin(), passes_.end(), oldest);
      counts[0] = static_cast<int>(fresh - passes_.begin());
      passes_.erase(passes_.begin(), fresh);
      counts[1] = std::max(1, effort_.points - static_cast<int>(passes_.size()));
    }
    MPI_Bcast(counts, 2, MPI_INT, 0, leaders_);
    if (place_ != 0) points_.erase(points_.begin(), points_.begin() + counts[0]);
    for (int i = 0; i < counts[1]; ++i) {
      if (i > 0) pause(effort_.span / effort_.points);
      if (place_ == 0) passes_.push_back(ticks());
      pass();
    }
    compose();
  }
  MPI_Bcast(&model_, sizeof model_, MPI_BYTE, 0, sharers_);
}

GlobalClock::Agreement GlobalClock::check() const {
  if (domains_ == 1) return {};
  double worst[] = {0.0, 0.0};
  for (int other = 1; leaders_ != MPI_COMM_NULL && other < domains_; ++other) {
    if (place_ == 0) serve(other);
    if (place_ != other) continue;
    const ClockPoint point = ask(0);
    worst[0] = seconds(std::abs(model_.to_reference(point.local) - (point.local + point.ahead)));
    worst[1] = seconds(point.round_trip);
  }
  MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, all_);
  return {worst[0], worst[1]};
}

}  // namespace assay
