#include "network/congestion/aggressors.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "harness/clock.hpp"
#include "network/collective_ops.hpp"
#include "network/pair.hpp"

namespace assay::congestion {
namespace {

constexpr int kMostPartners = 16;  // of a rank in a round
// Rounds in flight: at least two, so that links don't fall idle, and as many as have this number of
// messages of the busiest rank.
constexpr int kFewestRounds = 2;
constexpr int kInFlight = 8;
constexpr std::size_t kGuardBytes = 64;
constexpr unsigned char kGuardByte = 0xA5;
constexpr double kLongestNap = 2e-4;  // s

int fan_of(const std::string& pattern, int size) {
  return pattern == "permutation" ? 1 : std::min(size - 1, kMostPartners);
}
int generations_of(int fan) { return std::max(kFewestRounds, kInFlight / fan); }

}  // namespace

std::vector<std::string> pattern_names() {
  return {"incast", "alltoall", "permutation", "broadcast"};
}

Aggressors::Aggressors(const LoadTerms& terms, const Seat& seat, int places,
                       const PlantedFault& fault)
    : terms_(terms),
      rank_(seat.place),
      size_(places),
      fan_(fan_of(terms.pattern, places)),
      generations_(generations_of(fan_)),
      fault_(fault),
      outgoing_(std::max<std::size_t>(terms.bytes, 1), Pages::Size::ordinary) {
  const auto messages = static_cast<std::size_t>(generations_ * fan_);
  const std::size_t bytes = receives() ? messages * terms.bytes : 0;
  incoming_ = Pages(bytes + kGuardBytes, Pages::Size::ordinary);
  std::fill_n(incoming_.as<unsigned char>() + bytes, kGuardBytes, kGuardByte);
}

double Aggressors::memory(const LoadTerms& terms, int places) {
  const int fan = fan_of(terms.pattern, places);
  return static_cast<double>(terms.bytes) * (1.0 + generations_of(fan) * fan);
}

Aggressors::Partners Aggressors::partners(std::int64_t round, int k) const {
  const int others = size_ - 1;
  const int step = 1 + static_cast<int>((round * fan_ + k) % others);
  Partners with;
  if (terms_.pattern == "permutation") return {(rank_ + 1) % size_, (rank_ + others) % size_};
  if (terms_.pattern == "alltoall") {
    return {(rank_ + step) % size_, (rank_ + size_ - step) % size_};
  }
  // Between the first rank and that one.
  int& of_first = terms_.pattern == "incast" ? with.from : with.to;
  int& of_other = terms_.pattern == "incast" ? with.to : with.from;
  if (rank_ == 0) of_first = step;
  if (rank_ == step) of_other = 0;
  return with;
}

std::int64_t Aggressors::cycle() const {
  return terms_.pattern == "permutation" ? 1 : (size_ - 2) / fan_ + 1;
}

bool Aggressors::receives() const {
  if (terms_.pattern == "incast") return rank_ == 0;
  return terms_.pattern != "broadcast" || rank_ != 0;
}

unsigned char* Aggressors::place(std::int64_t round, int k) const {
  const auto index = round % generations_ * fan_ + k;
  return incoming_.as<unsigned char>() + static_cast<std::size_t>(index) * terms_.bytes;
}

template <typename Action>
void Aggressors::each_received(Action action) const {
  for (auto round = std::max<std::int64_t>(rounds_ - generations_, 0); round < rounds_; ++round) {
    for (int k = 0; k < fan_; ++k) {
      const int source = partners(round, k).from;
      if (source != MPI_PROC_NULL) action(place(round, k), source);
    }
  }
}

void Aggressors::prepare(std::size_t round) {
  auto* out = outgoing_.as<unsigned char>();
  for (std::size_t i = 0; i < terms_.bytes; ++i) out[i] = byte_of(rank_, i, round);
}

std::int64_t Aggressors::wrong_bytes(std::size_t round) const {
  std::int64_t wrong = 0;
  each_received([&](const unsigned char* message, int source) {
    for (std::size_t i = 0; i < terms_.bytes; ++i) {
      wrong += message[i] != byte_of(source, i, round) ? 1 : 0;
    }
  });
  const unsigned char* end = incoming_.as<unsigned char>() + incoming_.bytes() - kGuardBytes;
  return wrong + static_cast<std::int64_t>(kGuardBytes) -
         std::count(end, end + kGuardBytes, kGuardByte);
}

void Aggressors::damage() {
  each_received([&](unsigned char* message, int) {
    if (terms_.bytes > 0) message[terms_.bytes / 2] ^= 1;
  });
}

// One loaded block of one rank. Everything that it waits for is waited for together, so that it
// learns of the end while rounds are in flight.
class Aggressors::Block {
 public:
  Block(Aggressors& of, MPI_Comm comm, MPI_Comm world) : of_(of), comm_(comm), world_(world) {
    slots_ = 2 * static_cast<std::size_t>(of_.fan_);
    left_.assign(static_cast<std::size_t>(of_.generations_), 0);
    requests_.assign(kControls + left_.size() * slots_, MPI_REQUEST_NULL);
    indices_.resize(requests_.size());
  }

  void run() {
    begin_ = ticks();
    for (;;) {
      // Read once: both use the same time, so that a rank which begins no round also naps.
      const double rest = pause();
      while (started_ - completed_ < of_.generations_ && may_start(rest)) start();
      if (decided_ && completed_ == end_) break;
      if (!invited_ && (completed_ >= of_.cycle() || of_.fault_.is("idle"))) invite();
      await(in_flight() ? 0.0 : rest);
    }
    of_.rounds_ = completed_;
    of_.load_.rounds += completed_;
    of_.load_.seconds += seconds(ticks() - begin_);
    if (lapsed_ || completed_ == 0) ++of_.load_.lapses;
  }

 private:
  // The requests before those of rounds: the others may begin; the others have ended; the number of
  // rounds that all have begun by then.
  enum : std::size_t { kBegun, kOver, kVote, kControls };

  bool in_flight() const { return started_ > completed_; }
  std::size_t generation_of(std::int64_t round) const {
    return static_cast<std::size_t>(round) % left_.size();
  }

  // Seconds until rounds may begin again.
  double pause() const {
    if (of_.terms_.duty >= 1.0 || voted_) return 0.0;
    const double since = std::fmod(seconds(ticks() - begin_), of_.terms_.period);
    return since < of_.terms_.duty * of_.terms_.period ? 0.0 : of_.terms_.period - since;
  }

  bool may_start(double rest) const {
    if (decided_) return started_ < end_;
    if (voted_ || of_.fault_.is("idle")) return false;
    if (of_.fault_.is("early") && begun_) return false;
    return rest == 0.0;
  }

  // Synchronous sends: no rank can run ahead of its receivers, so that what is in flight is
  // bounded.
  void start() {
    const std::size_t generation = generation_of(started_);
    MPI_Request* request = &requests_[kControls + generation * slots_];
    const int size = static_cast<int>(of_.terms_.bytes);
    for (int k = 0; k < of_.fan_; ++k) {
      const Partners with = of_.partners(started_, k);
      if (with.from != MPI_PROC_NULL) {
        check_mpi(MPI_Irecv(of_.place(started_, k), size, MPI_BYTE, with.from, kMessage, comm_,
                            request++));
        ++left_[generation];
        of_.load_.bytes += size;
      }
      if (with.to != MPI_PROC_NULL) {
        check_mpi(MPI_Issend(of_.outgoing_.as<unsigned char>(), size, MPI_BYTE, with.to, kMessage,
                             comm_, request++));
        ++left_[generation];
      }
    }
    ++started_;
    settle();
  }

  void settle() {
    while (in_flight() && left_[generation_of(completed_)] == 0) ++completed_;
  }

  void invite() {
    check_mpi(MPI_Ibarrier(world_, &requests_[kBegun]));
    check_mpi(MPI_Ibarrier(world_, &requests_[kOver]));
    invited_ = true;
  }

  void await(double rest) {
    busy_ = in_flight() || rest > 0.0;
    int done = 0;
    const int all = static_cast<int>(requests_.size());
    if (rest > 0.0) {
      const double nap = std::min(rest, kLongestNap);
      std::this_thread::sleep_for(std::chrono::duration<double>(nap));
      of_.load_.pauses += nap;
      check_mpi(MPI_Testsome(all, requests_.data(), &done, indices_.data(), MPI_STATUSES_IGNORE));
    } else {
      check_mpi(MPI_Waitsome(all, requests_.data(), &done, indices_.data(), MPI_STATUSES_IGNORE));
    }
    for (int i = 0; i < done; ++i)
      note(static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]));
    settle();
  }

  void note(std::size_t index) {
    if (index >= kControls) {
      --left_[(index - kControls) / slots_];
    } else if (index == kBegun) {
      begun_ = true;
    } else if (index == kVote) {
      decided_ = true;
    } else {
      // All end after the same round, the last that any of them has begun.
      lapsed_ = !busy_;
      voted_ = true;
      check_mpi(
          MPI_Iallreduce(&started_, &end_, 1, MPI_INT64_T, MPI_MAX, comm_, &requests_[kVote]));
    }
  }

  Aggressors& of_;
  MPI_Comm comm_;
  MPI_Comm world_;
  std::size_t slots_ = 0;              // requests of a round, at most
  std::vector<MPI_Request> requests_;  // controls, then each generation's
  std::vector<int> indices_;
  std::vector<std::int64_t> left_;  // open requests of each generation
  Ticks begin_ = 0;
  std::int64_t started_ = 0;  // rounds; unchanged while the vote is in progress
  std::int64_t completed_ = 0;
  std::int64_t end_ = 0;
  bool invited_ = false;
  bool begun_ = false;
  bool voted_ = false;
  bool decided_ = false;
  bool busy_ = false;    // when it last began to wait
  bool lapsed_ = false;  // without traffic when the others ended
};

void Aggressors::run(const Team& team, MPI_Comm world) { Block(*this, team.slice(), world).run(); }

void meet_load(MPI_Comm world) {
  // A nonblocking barrier matches no blocking one.
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(world, &request));
  check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

}  // namespace assay::congestion
