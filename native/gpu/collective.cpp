// gpu.collective: one collective operation between the devices of all ranks, by NCCL or RCCL.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "device/collectives.hpp"
#include "gpu/alarm.hpp"
#include "gpu/passes.hpp"
#include "harness/clock.hpp"
#include "harness/fault.hpp"
#include "memory/draws.hpp"

namespace assay::gpu {
namespace {

constexpr double kCollectiveSampleSeconds = 0.005;
constexpr std::int64_t kMostCollective = std::int64_t{1} << 32;
constexpr std::int64_t kUsualCollective = std::int64_t{1} << 26;
// The queue is asked this often before the other ranks are.
constexpr int kAskedBeforeRanks = 64;
constexpr auto kJoiningPause = std::chrono::milliseconds(1);
constexpr double kLongestJoining = 120.0;                    // s
constexpr std::size_t kCheckedPiece = std::size_t{1} << 20;  // elements

// Numbers that are exact in single precision, and so are their sums over up to 200,000 ranks.
constexpr std::uint64_t kDrawnBelow = 16;
constexpr int kRankPeriod = 64;

double drawn(std::size_t element, std::size_t round) {
  return static_cast<double>(mixed(element * kDrawStep + round) % kDrawnBelow);
}
// A rank's element of a vector that is added up, and the sum over all ranks.
double term_of_rank(int rank, std::size_t element, std::size_t round) {
  return drawn(element, round) + static_cast<double>(rank % kRankPeriod);
}
double sum_of_ranks(int ranks, std::size_t element, std::size_t round) {
  const auto whole = static_cast<double>(ranks / kRankPeriod);
  const auto rest = static_cast<double>(ranks % kRankPeriod);
  const double of_period = kRankPeriod * (kRankPeriod - 1) / 2.0;
  return ranks * drawn(element, round) + whole * of_period + rest * (rest - 1.0) / 2.0;
}
// A rank's element of blocks that are moved: 24 bits.
double moved_of_rank(int rank, std::size_t element, std::size_t round) {
  const auto key = static_cast<std::uint64_t>(rank) << 40;
  return static_cast<double>(mixed((element ^ key) * kDrawStep + round) >> 40);
}

class DeviceCollective : public DeviceKernel {
 public:
  DeviceCollective(const Context& context, Parameters& parameters)
      : DeviceKernel(context, parameters) {
    operation_ = parameters.choice("op", "allreduce",
                                   {"allreduce", "allgather", "reduce_scatter", "alltoall"});
    single_ = parameters.choice("type", "float", {"float", "double"}) == "float";
    bytes_ = parameters.integer("bytes", 0, 0, kMostCollective);
    if (context.size < 2) throw KernelError("gpu.collective needs at least 2 ranks");
    const std::int64_t unit = context.size * static_cast<std::int64_t>(element());
    if (bytes_ == 0) bytes_ = std::max<std::int64_t>(kUsualCollective / unit, 1) * unit;
    if (bytes_ % unit != 0) {
      throw KernelError("parameter 'bytes' must be a multiple of " + std::to_string(unit) +
                        ": an element for each rank");
    }
    parameters.resolve("bytes", bytes_);
    fault_ = PlantedFault(parameters, {"value", "skip"});
  }

  void setup() override {
    alarm_.emplace(context_.comm);
    device::Collectives::Id id{};
    together(context_, [&] {
      chosen_ = choice_.open();
      group_ = std::make_unique<device::Collectives>(chosen_.device->info().backend);
      library_ = group_->library();
      if (context_.rank == 0) id = group_->new_id();
    });
    MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_BYTE, 0, context_.comm);
    together(context_, [&] { join(id); });
    together(context_, [this] { allocate(); });
    prepare(0);
    times_.choose(context_, *queue_, kCollectiveSampleSeconds,
                  [this](std::int64_t count) { operate(count); });
  }

  // A rank that hears of another one's failure returns: the harness reports what the other says.
  void run(std::int64_t) override {
    if (given_up_) return;
    alarmed([this] {
      queue_->begin_timing();
      operate(times_.operations());
      if (!given_up_) times_.add(queue_->end_timing());
    });
  }

  // Every element that the last timed operation left, and then of another one with other numbers.
  Verification verify() override {
    long long wrong = 0;
    together(context_, [&] {
      if (fault_.is("value")) damage();
      wrong = wrong_elements(0);
    });
    prepare(1);
    together(context_, [&] {
      if (!fault_.is("skip")) operate(1);
      wrong += wrong_elements(1);
    });
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, context_.comm);
    return {wrong == 0, "elements that are wrong, on all ranks", static_cast<double>(wrong), 0.0};
  }

  std::map<std::string, Value> facts() const override {
    std::map<std::string, Value> known = DeviceKernel::facts();
    known["library"] = library_;
    return known;
  }

 private:
  std::size_t element() const { return single_ ? sizeof(float) : sizeof(double); }
  bool reduces() const { return operation_ == "allreduce" || operation_ == "reduce_scatter"; }
  std::size_t all() const { return static_cast<std::size_t>(bytes_) / element(); }
  std::size_t block() const { return all() / static_cast<std::size_t>(context_.size); }
  // Elements that this rank gives and gets.
  std::size_t given() const { return operation_ == "allgather" ? block() : all(); }
  std::size_t gotten() const { return operation_ == "reduce_scatter" ? block() : all(); }

  void join(const device::Collectives::Id& id) {
    group_->join(*chosen_.device, id, context_.size, context_.rank);
    const Ticks begin = ticks();
    wait([this] { return group_->joined(); },
         [&] {
           if (seconds(ticks() - begin) > kLongestJoining) {
             throw device::DeviceError(library_ + " hasn't joined the devices of all ranks in " +
                                       std::to_string(static_cast<int>(kLongestJoining)) +
                                       " s; NCCL_DEBUG=INFO says what it waits for");
           }
           std::this_thread::sleep_for(kJoiningPause);
         });
  }

  void allocate() {
    if (given_up_) return;
    queue_ = chosen_.device->queue();
    from_ = chosen_.device->allocate(given() * element());
    to_ = chosen_.device->allocate(gotten() * element());
  }

  // That many operations, until the last has ended.
  void operate(std::int64_t count) {
    if (given_up_) return;
    alarmed([&] {
      for (std::int64_t k = 0; k < count; ++k) add_operation();
    });
    wait([this] { return group_->done(*queue_); }, [] {});
  }

  // A rank that fails tells the others, and they give up without an exception, so that its own text
  // is the one that is reported.
  template <typename Action>
  void alarmed(Action action) {
    try {
      action();
    } catch (const device::DeviceError&) {
      if (!given_up_) alarm_->raise();
      give_up();
      throw;
    }
  }

  template <typename Done, typename Pause>
  void wait(Done done, Pause pause) {
    alarmed([&] {
      for (int asked = 1; !done(); ++asked) {
        pause();
        if (asked % kAskedBeforeRanks != 0) continue;
        if (alarm_->is_raised()) return give_up();
        std::this_thread::yield();
      }
    });
  }

  void give_up() {
    given_up_ = true;
    group_->abort();
  }

  void add_operation() {
    const auto type = single_ ? device::Element::kFloat : device::Element::kDouble;
    if (operation_ == "allreduce") group_->allreduce(*from_, *to_, all(), type, *queue_);
    if (operation_ == "allgather") group_->allgather(*from_, *to_, block(), type, *queue_);
    if (operation_ == "reduce_scatter") {
      group_->reduce_scatter(*from_, *to_, block(), type, *queue_);
    }
    if (operation_ == "alltoall") group_->alltoall(*from_, *to_, block(), type, *queue_);
  }

  double own(std::size_t i, std::size_t round) const {
    return reduces() ? term_of_rank(context_.rank, i, round)
                     : moved_of_rank(context_.rank, i, round);
  }

  // What this rank must get.
  double expected(std::size_t i, std::size_t round) const {
    const auto rank = static_cast<std::size_t>(context_.rank);
    if (operation_ == "allreduce") return sum_of_ranks(context_.size, i, round);
    if (operation_ == "reduce_scatter") {
      return sum_of_ranks(context_.size, rank * block() + i, round);
    }
    const int source = static_cast<int>(i / block());
    if (operation_ == "allgather") return moved_of_rank(source, i % block(), round);
    return moved_of_rank(source, rank * block() + i % block(), round);
  }

  // Fills what this rank gives, and clears what it gets.
  void prepare(std::size_t round) {
    together(context_, [&] {
      if (given_up_) return;
      fill(*from_, given(), [&](std::size_t i) { return own(i, round); });
      fill(*to_, gotten(), [](std::size_t) { return -1.0; });
    });
  }

  template <typename Content>
  void fill(device::Buffer& buffer, std::size_t elements, Content content) {
    if (single_) {
      fill_with<float>(buffer, elements, content);
    } else {
      fill_with<double>(buffer, elements, content);
    }
  }

  template <typename Real, typename Content>
  void fill_with(device::Buffer& buffer, std::size_t elements, Content content) {
    std::vector<Real> piece(std::min(kCheckedPiece, elements));
    for (std::size_t begin = 0; begin < elements; begin += piece.size()) {
      const std::size_t size = std::min(piece.size(), elements - begin);
      for (std::size_t i = 0; i < size; ++i) piece[i] = static_cast<Real>(content(begin + i));
      queue_->write(buffer, begin * sizeof(Real), piece.data(), size * sizeof(Real));
      queue_->finish();
    }
  }

  std::int64_t wrong_elements(std::size_t round) {
    if (given_up_) return 0;
    return single_ ? wrong_of<float>(round) : wrong_of<double>(round);
  }

  template <typename Real>
  std::int64_t wrong_of(std::size_t round) {
    std::vector<Real> piece(std::min(kCheckedPiece, gotten()));
    std::int64_t wrong = 0;
    for (std::size_t begin = 0; begin < gotten(); begin += piece.size()) {
      const std::size_t size = std::min(piece.size(), gotten() - begin);
      queue_->read(*to_, begin * sizeof(Real), piece.data(), size * sizeof(Real));
      queue_->finish();
      for (std::size_t i = 0; i < size; ++i) {
        wrong += piece[i] != static_cast<Real>(expected(begin + i, round)) ? 1 : 0;
      }
    }
    return wrong;
  }

  void damage() {
    const double other = -2.0;
    queue_->write(*to_, gotten() / 2 * element(), &other, element());
    queue_->finish();
  }

  std::string operation_, library_;
  bool single_ = true;
  std::int64_t bytes_ = 0;
  std::optional<Alarm> alarm_;
  bool given_up_ = false;
  PlantedFault fault_;
  std::unique_ptr<device::Queue> queue_;
  std::unique_ptr<device::Buffer> from_, to_;
  std::unique_ptr<device::Collectives> group_;  // leaves before queue and buffers do
};

ASSAY_KERNEL("gpu.collective", DeviceCollective);

}  // namespace
}  // namespace assay::gpu
