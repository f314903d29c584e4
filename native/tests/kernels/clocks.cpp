// Clocks with known errors, and starts with known delays. Built for tests only.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "harness/appointments.hpp"
#include "harness/clock.hpp"
#include "harness/global_clock.hpp"
#include "harness/host_clocks.hpp"
#include "harness/kernel.hpp"
#include "tests/kernels/spin.hpp"

namespace assay {
namespace {

// Ranks with different clocks, derived from the one clock of this machine: rank r reads the clock k
// = r mod "domains", which is off by (-1)^k (k + 1) "offset" seconds and gains (k + 1) "drift"
// seconds per second. All of it is planted, so the error of the global clock is known: it must give
// rank 0's time within its own bounds, now and "later" seconds from now, and no rank may start
// before an appointed time.
class Clocks : public Kernel {
 public:
  Clocks(const Context& context, Parameters& parameters)
      : context_(context),
        domains_(parameters.integer("domains", context.size)),
        offset_(parameters.real("offset", 1000.0)),
        drift_(parameters.real("drift", 1e-4)),
        later_(parameters.real("later", 100.0)),
        rounds_(parameters.integer("rounds", 1)) {}

  void setup() override {
    beginning_ = ticks();
    MPI_Bcast(&beginning_, 1, MPI_INT64_T, 0, context_.comm);
    const auto mine = context_.rank % domains_;
    const SyncEffort effort{5, 5, 0.02};
    clock_ = std::make_unique<GlobalClock>(
        context_.comm, "clock " + std::to_string(mine),
        [this, mine] { return reading(mine, ticks()); }, effort);
    for (std::int64_t i = 0; i < rounds_; ++i) clock_->synchronise();
  }

  void run(std::int64_t) override {}
  std::int64_t max_batch() const override { return 1; }

  Verification verify() override {
    // The bound is only meaningful for a model anchored at a time of this rank's own clock.
    const auto mine = context_.rank % domains_;
    const Ticks anchor = clock_->model().anchor;
    const bool within = reading(mine, beginning_) <= anchor && anchor <= reading(mine, ticks());
    if (mine != 0 && !within) excess_ = std::numeric_limits<double>::infinity();
    compare(ticks());
    compare(ticks() + static_cast<Ticks>(1e9 * later_));
    const auto agreement = clock_->check();
    checked_ = agreement.error;
    round_trip_ = agreement.round_trip;
    keep_appointments();
    double worst[] = {excess_, error_, bound_};
    MPI_Allreduce(MPI_IN_PLACE, worst, 3, MPI_DOUBLE, MPI_MAX, context_.comm);
    error_ = worst[1];
    bound_ = worst[2];
    return {worst[0] <= 1.0, "error of the global clock over its bound", worst[0], 1.0};
  }

  std::map<std::string, Value> facts() const override {
    return {{"domains", std::int64_t{clock_->domains()}},
            {"error", 1e-9 * error_},
            {"bound", 1e-9 * bound_},
            {"checked", checked_},
            {"round_trip", round_trip_}};
  }

 private:
  double drift_of(std::int64_t k) const { return drift_ * static_cast<double>(k + 1); }
  Ticks offset_of(std::int64_t k) const {
    return static_cast<Ticks>(1e9 * offset_ * static_cast<double>(k % 2 == 0 ? k + 1 : -k - 1));
  }

  // The reading of clock k at that true time, and the inverse.
  Ticks reading(std::int64_t k, Ticks time) const {
    const double gained = drift_of(k) * static_cast<double>(time - beginning_);
    return time + offset_of(k) + std::llround(gained);
  }
  Ticks time_of(std::int64_t k, Ticks reading) const {
    const double gone = static_cast<double>(reading - offset_of(k) - beginning_);
    return beginning_ + std::llround(gone / (1.0 + drift_of(k)));
  }

  // Nanoseconds; the last summand covers second-order terms.
  double allowed(Ticks local) const { return 1.02 * clock_->model().error_at(local) + 10.0; }

  void compare(Ticks time) {
    const Ticks local = reading(context_.rank % domains_, time);
    const Ticks truth = reading(0, time);
    const double error = std::abs(static_cast<double>(clock_->to_global(local) - truth));
    const double back = std::abs(static_cast<double>(clock_->to_local(truth) - local));
    const double bound = allowed(local);
    excess_ = std::max({excess_, error / bound, back / bound / (1.0 + 1e-2)});
    error_ = std::max(error_, error);
    bound_ = std::max(bound_, bound);
  }

  void keep_appointments() {
    Appointments appointments(context_.comm, *clock_, ClockQuality{1e-7, 1e-9});
    for (int i = 0; i < 10; ++i) {
      const Ticks start = appointments.await();
      const Ticks now = ticks();
      appointments.held(true);
      const double early = static_cast<double>(time_of(0, start) - now);
      excess_ = std::max(excess_, early / allowed(reading(context_.rank % domains_, now)));
    }
  }

  Context context_;
  std::int64_t domains_;
  double offset_;
  double drift_;
  double later_;
  std::int64_t rounds_;
  Ticks beginning_ = 0;
  std::unique_ptr<GlobalClock> clock_;
  double excess_ = 0.0;
  double error_ = 0.0;
  double bound_ = 0.0;
  double checked_ = 0.0;
  double round_trip_ = 0.0;
};
ASSAY_KERNEL("test.clocks", Clocks);

// Hosts with planted clock offsets: rank r is on the host k = r mod "hosts", whose time of day
// is ahead by k times "utc" seconds, and the other clock by k times "monotonic".
class HostsClocks : public Kernel {
 public:
  HostsClocks(const Context& context, Parameters& parameters)
      : context_(context),
        hosts_(parameters.integer("hosts", context.size)),
        utc_(parameters.real("utc", 0.5)),
        monotonic_(parameters.real("monotonic", -86400.0)) {}

  void setup() override {
    std::vector<int> nodes;
    for (int rank = 0; rank < context_.size; ++rank) {
      nodes.push_back(static_cast<int>(rank % hosts_));
    }
    const auto ahead = [&](double each) {
      const auto host = static_cast<double>(context_.rank % hosts_);
      return static_cast<Ticks>(1e9 * each * host);
    };
    found_ = compare_clocks(
        context_.comm, nodes, [planted = ahead(utc_)] { return utc_ticks() + planted; },
        [planted = ahead(monotonic_)] { return ticks() + planted; });
  }

  void run(std::int64_t) override {}
  std::int64_t max_batch() const override { return 1; }

  Verification verify() override {
    const auto host = static_cast<double>(context_.rank % hosts_);
    double worst[] = {0.0, 0.0};
    if (found_) {
      const auto compare = [&](const ClockOffset& clock, double each) {
        const double error = std::abs(clock.offset - host * each);
        // 1 ns for rounding of doubles and whole nanoseconds.
        worst[0] = std::max(worst[0], error / (clock.error + 1e-9));
        worst[1] = std::max(worst[1], clock.error);
      };
      compare(found_->utc, utc_);
      compare(found_->monotonic, monotonic_);
    }
    MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, context_.comm);
    bound_ = worst[1];
    return {found_.has_value() == (hosts_ > 1 && context_.size > 1) && worst[0] <= 1.0,
            "error of the hosts' clocks over its bound", worst[0], 1.0};
  }

  std::map<std::string, Value> facts() const override {
    return {{"compared", std::int64_t{found_.has_value()}}, {"bound", bound_}};
  }

 private:
  Context context_;
  std::int64_t hosts_;
  double utc_;
  double monotonic_;
  std::optional<HostClocks> found_;
  double bound_ = 0.0;
};
ASSAY_KERNEL("test.host_clocks", HostsClocks);

// Every rank takes "seconds" by appointment; the last one is "late" by that many seconds the first
// "times" times. The verified value counts the starts, including late ones.
class Appointed : public Kernel {
 public:
  Appointed(const Context& context, Parameters& parameters)
      : context_(context),
        seconds_(parameters.real("seconds", 1e-3)),
        late_(parameters.real("late", 0.0)),
        times_(parameters.integer("times", 0)),
        barrier_(parameters.choice("start", "appointed", {"appointed", "barrier"}) == "barrier") {}
  void setup() override {}
  void before_sample() override {
    if (context_.rank == context_.size - 1 && ready_ < times_) spin(late_);
    ++ready_;
  }
  void run(std::int64_t count) override {
    runs_ += count;
    spin(seconds_);
  }
  Verification verify() override {
    return {runs_ == ready_, "starts", static_cast<double>(runs_), 0.0};
  }
  Start start() const override { return barrier_ ? Start::kBarrier : Start::kAppointed; }
  bool uses_global_clock() const override { return true; }
  std::int64_t max_batch() const override { return barrier_ ? 1 : 1000; }

 private:
  Context context_;
  double seconds_;
  double late_;
  std::int64_t times_;
  bool barrier_;
  std::int64_t ready_ = 0;
  std::int64_t runs_ = 0;
};
ASSAY_KERNEL("test.appointed", Appointed);

}  // namespace
}  // namespace assay
