// network.overlap: the share of a non-blocking operation that computation hides.
//
// Each sample has four parts, each with the same number of repetitions: the operation alone, the
// computation alone, the computation while the operation is under way, and the same with calls of
// MPI_Testall in between.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "harness/kernel.hpp"
#include "network/barrier_check.hpp"
#include "network/computation.hpp"
#include "network/nonblocking_operation.hpp"
#include "network/rehearsal.hpp"

namespace assay {
namespace {

constexpr std::int64_t kMostOverlapBytes = std::int64_t{1} << 30;
constexpr std::int64_t kUsualOverlapBytes = 8;
// Repetitions in a part of a sample: enough for this many seconds, within limits.
constexpr double kSecondsOfPart = 200e-6;
constexpr double kMostRepetitions = 100;
// Operations before the first sample, for the length of the computation.
constexpr double kMostTrials = 25;
constexpr double kSecondsOfTrials = 0.1;
constexpr double kMostCalls = 1000;
// Rounds of the check after the timed operations, each with different contents.
constexpr std::size_t kRoundsOfCheck = 2;
// A sample of one repetition and the check take at most this many times as long as the operation:
// where computation hides nothing, both together take twice as long.
constexpr double kLengths = 6 + 2 * static_cast<double>(kRoundsOfCheck);

enum Part : std::size_t { kCommunication, kComputation, kOverlapped, kTested, kParts };
constexpr std::array<const char*, kParts> kNames = {"communication", "computation", "overlapped",
                                                    "tested"};

class Overlap : public Kernel {
 public:
  Overlap(const Context& context, Parameters& parameters)
      : context_(context),
        name_(parameters.choice("op", "exchange", nonblocking_names())),
        interval_(parameters.real("interval", 10e-6)) {
    const std::int64_t asked = parameters.integer("bytes", -1, -1, kMostOverlapBytes);
    const std::int64_t bytes = asked != -1 ? asked : is_ibarrier(name_) ? 0 : kUsualOverlapBytes;
    parameters.resolve("bytes", bytes);
    if (context.size < 2) throw KernelError("network.overlap needs at least 2 ranks");
    if (is_ibarrier(name_) && bytes > 0) throw KernelError("a barrier carries no bytes");
    if (adds_up(name_) && bytes % static_cast<std::int64_t>(sizeof(double)) != 0) {
      throw KernelError(name_ + " adds up doubles: 'bytes' must be a multiple of 8, not " +
                        std::to_string(bytes));
    }
    if (!(interval_ > 0.0)) throw KernelError("parameter 'interval' must be more than 0");
    bytes_ = static_cast<std::size_t>(bytes);
    operation_ = make_nonblocking(name_, context, bytes_);
    fault_ = PlantedFault(parameters, {"byte", "computation", "idle"});
  }

  void setup() override {
    operation_->allocate();
    requests_.assign(operation_->requests(), MPI_REQUEST_NULL);
    computation_.calibrate();
    expected_ = rehearse(context_, bytes_, kLengths, [this](std::size_t part) {
      start(part);
      wait();
    });
    operation_->prepare(0);
    if (expected_ > context_.deadline.longest()) return;  // it will be left out
    settle();
  }

  double expected_seconds() const override { return expected_; }

  // One sample. The parts take turns in being the first.
  void run(std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t turn = 0; turn < kParts; ++turn) {
        const auto part = static_cast<Part>((sample_ + turn) % kParts);
        times_[part].push_back(time_of(part));
      }
      ++sample_;
    }
  }

  std::int64_t max_batch() const override { return 1; }
  bool times_here() const override { return operation_->computes(); }

  // The slowest rank of each part; then every byte of the timed operations, and of further ones
  // with new contents; and the computation.
  Verification verify() override {
    for (auto& times : times_) keep_slowest(times);
    if (fault_.is("computation")) computation_.miscount();
    if (fault_.is("byte")) operation_->damage_byte();
    std::int64_t wrong = operation_->wrong_bytes(0);
    for (std::size_t round = 1; round <= kRoundsOfCheck; ++round) {
      operation_->prepare(round);
      if (!fault_.is("idle")) once(round % 2 == 0 ? kOverlapped : kTested);
      wrong += operation_->wrong_bytes(round);
    }
    std::int64_t found[] = {wrong, computation_.right() ? 0 : 1};
    MPI_Allreduce(MPI_IN_PLACE, found, 2, MPI_INT64_T, MPI_SUM, context_.comm);
    if (found[1] > 0) {
      return {false, "ranks whose computation has a wrong result", static_cast<double>(found[1]),
              0.0};
    }
    if (is_ibarrier(name_)) return verify_barrier(context_, barrier_to_verify());
    return {found[0] == 0, "bytes wrong or missing, on all ranks", static_cast<double>(found[0]),
            0.0};
  }

  // One value per sample, from rank 0: the times of the slowest rank, and the shares hidden.
  std::vector<Series> series() const override {
    if (context_.rank != 0) return {};
    std::vector<Series> found;
    for (std::size_t part = 0; part < kParts; ++part) {
      found.push_back({kNames[part], "s", {}, {}, times_[part]});
    }
    found.push_back({"overlap", "1", {}, {}, hidden_in(kOverlapped)});
    found.push_back({"overlap_tested", "1", {}, {}, hidden_in(kTested)});
    return found;
  }

  std::map<std::string, Value> facts() const override {
    return {{"repetitions", repetitions_}, {"calls", calls_}};
  }

 private:
  static void check_call(int status) {
    if (status != MPI_SUCCESS) throw KernelError("MPI failed in a non-blocking operation");
  }

  void start(std::size_t bytes) { check_call(operation_->start(bytes, requests_.data())); }

  void wait() {
    check_call(
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }

  // The computation in equal pieces, with a call after each but the last, until one shows that the
  // operation is complete.
  void compute_with_calls() {
    std::int64_t done = 0;
    int complete = 0;
    for (std::int64_t piece = 1; piece <= calls_; ++piece) {
      const std::int64_t until = steps_ * piece / (calls_ + 1);
      computation_.run(until - done);
      done = until;
      if (complete == 0) {
        check_call(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &complete,
                               MPI_STATUSES_IGNORE));
      }
    }
    computation_.run(steps_ - done);
  }

  void once(Part part) {
    const bool communicates = part != kComputation;
    if (communicates) start(bytes_);
    if (operation_->computes()) {
      if (part == kTested) {
        compute_with_calls();
      } else if (part != kCommunication) {
        computation_.run(steps_);
      }
    }
    if (communicates) wait();
  }

  // Seconds of one repetition on this rank. A barrier before each keeps any rank from running
  // ahead; it is not part of the time.
  double time_of(Part part) {
    Ticks total = 0;
    for (std::int64_t i = 0; i < repetitions_; ++i) {
      check_call(MPI_Barrier(context_.comm));
      const Ticks begin = ticks();
      once(part);
      total += ticks() - begin;
    }
    return seconds(total) / static_cast<double>(repetitions_);
  }

  // The length of the computation: the time of the operation without it, on the slowest rank. The
  // lower quartile of the trials: where ranks share their cores, most of them are interrupted.
  void settle() {
    std::vector<double> first{time_of(kCommunication), time_of(kCommunication)};
    keep_slowest(first);
    const double guess = std::max(std::min(first[0], first[1]), 1e-9);
    const int trials = static_cast<int>(std::clamp(kSecondsOfTrials / guess, 1.0, kMostTrials));
    std::vector<double> times;
    for (int i = 0; i < trials; ++i) times.push_back(time_of(kCommunication));
    keep_slowest(times);
    std::sort(times.begin(), times.end());
    const double alone = std::max(times[times.size() / 4], 1e-9);
    steps_ = std::max<std::int64_t>(computation_.steps_in(alone), 1);
    repetitions_ = std::llround(std::clamp(kSecondsOfPart / alone, 1.0, kMostRepetitions));
    calls_ = std::llround(std::clamp(alone / interval_, 1.0, kMostCalls));
  }

  // Replaces each time by that of the slowest rank among those that compute.
  void keep_slowest(std::vector<double>& times) const {
    if (!operation_->computes()) std::fill(times.begin(), times.end(), 0.0);
    MPI_Allreduce(MPI_IN_PLACE, times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX,
                  context_.comm);
  }

  // (communication + computation - both) / the longer of the first two, between 0 and 1.
  std::vector<double> hidden_in(Part both) const {
    std::vector<double> hidden;
    for (std::size_t i = 0; i < sample_; ++i) {
      const double communication = times_[kCommunication][i];
      const double computation = times_[kComputation][i];
      const double share =
          (communication + computation - times_[both][i]) / std::max(communication, computation);
      hidden.push_back(std::clamp(share, 0.0, 1.0));
    }
    return hidden;
  }

  BarrierCall barrier_to_verify() const {
    if (fault_.is("idle")) return [](MPI_Comm) { return MPI_SUCCESS; };
    return [](MPI_Comm comm) {
      MPI_Request request = MPI_REQUEST_NULL;
      const int failed = MPI_Ibarrier(comm, &request);
      return failed != MPI_SUCCESS ? failed : MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
  }

  Context context_;
  std::string name_;
  double interval_;
  std::size_t bytes_ = 0;
  std::unique_ptr<NonblockingOperation> operation_;
  std::vector<MPI_Request> requests_;
  Computation computation_;
  std::int64_t steps_ = 1;
  std::int64_t repetitions_ = 1;
  std::int64_t calls_ = 1;
  double expected_ = 0.0;  // seconds of a sample and the check, 0 if unknown
  std::size_t sample_ = 0;
  std::array<std::vector<double>, kParts> times_;  // seconds of a repetition, one per sample
  PlantedFault fault_;
};

ASSAY_KERNEL("network.overlap", Overlap);

}  // namespace
}  // namespace assay
