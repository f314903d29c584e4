#include "harness/device_watch.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <set>
#include <thread>

#include "harness/agreement.hpp"
#include "harness/device_places.hpp"
#include "harness/ranks.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr auto kReadInterval = std::chrono::milliseconds(100);
// Reading may take this share of the time.
constexpr int kReadShare = 100;
// A driver that takes longer hangs. The kernel has used the device by then, so that it is ready.
constexpr auto kDriverPatience = std::chrono::seconds(5);

// Devices renew their power and their energy every 20 to 100 ms (Yang, Adamek and Armour,
// "Part-time power measurements: nvidia-smi's lack of attention", 2024), so that each end of a span
// is uncertain by that time.
constexpr double kRenewal = 0.1;

double monotonic_seconds() {
  return std::chrono::duration<double>(SteadyClock::now().time_since_epoch()).count();
}

using ReadingMember = std::optional<double> DeviceReading::*;

// The values of these readings; nothing if one of them lacks it.
std::optional<std::vector<double>> values_of(const std::vector<TimedReading>& readings,
                                             ReadingMember member) {
  std::vector<double> values;
  for (const TimedReading& each : readings) {
    const auto& value = each.reading.*member;
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<double> mean_of(const std::vector<TimedReading>& readings, ReadingMember member) {
  const auto values = values_of(readings, member);
  if (!values || values->empty()) return std::nullopt;
  double sum = 0.0;
  for (const double value : *values) sum += value;
  return sum / static_cast<double>(values->size());
}

std::optional<double> growth_of(const std::vector<TimedReading>& readings, ReadingMember member) {
  const auto& first = readings.front().reading.*member;
  const auto& last = readings.back().reading.*member;
  if (!first || !last) return std::nullopt;
  return std::max(*last - *first, 0.0);
}

// The energy by the trapezoid rule, if the device counts none. Between two readings the power is
// assumed to lie between both, so that the integral is wrong by at most half of their difference.
void add_energy(const std::vector<TimedReading>& readings, DeviceCourse& course) {
  const auto power = values_of(readings, &DeviceReading::power);
  if (!power) return;
  const double greatest = *std::max_element(power->begin(), power->end());
  course.energy_error = kRenewal * greatest;
  course.energy = growth_of(readings, &DeviceReading::energy);
  course.counted = course.energy.has_value();
  if (course.counted) return;
  double energy = 0.0;
  for (std::size_t i = 1; i < readings.size(); ++i) {
    const double span = readings[i].time - readings[i - 1].time;
    energy += 0.5 * span * ((*power)[i] + (*power)[i - 1]);
    *course.energy_error += 0.5 * span * std::abs((*power)[i] - (*power)[i - 1]);
  }
  course.energy = energy;
}

// The devices that each rank watches, as one line per rank: the first rank of a machine that uses a
// device watches it. Collective.
std::vector<std::string> share_out(MPI_Comm comm, const std::vector<std::string>& addresses) {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  std::string mine = boot.empty() ? host_name() : boot;
  for (const std::string& address : addresses) mine += " " + address;
  const auto words_of = [](const std::string& line) {
    std::vector<std::string> words;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(' ', at), line.size());
      if (end > at) words.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    return words;
  };
  std::set<std::string> seen;
  std::string all;
  for (const std::string& line : gather_texts(comm, mine)) {
    const auto words = words_of(line);
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (seen.insert(words[0] + " " + words[i]).second) all += words[i] + " ";
    }
    all += "\n";
  }
  broadcast(comm, 0, all);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::size_t at = 0;
  for (int i = 0; i < rank; ++i) at = all.find('\n', at) + 1;
  return words_of(all.substr(at, all.find('\n', at) - at));
}

// Whether none of these CPUs is near the device; false if that is unknown, and for a rank that uses
// several devices: it can't be near all of them.
bool is_far(const std::vector<std::string>& addresses, const std::vector<int>& cpus) {
  if (addresses.size() != 1) return false;
  const std::vector<int> near = cpus_near_device(addresses[0]);
  return !near.empty() && std::none_of(cpus.begin(), cpus.end(), [&near](int cpu) {
    return std::find(near.begin(), near.end(), cpu) != near.end();
  });
}

// Those that aren't empty, with commas.
std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) {
    if (!text.empty()) all += (all.empty() ? "" : ", ") + text;
  }
  return all;
}

}  // namespace

DeviceCourse course_of(const std::vector<TimedReading>& readings) {
  DeviceCourse course;
  if (readings.size() < 2) return course;
  std::vector<TimedReading> during(readings.begin() + 1, readings.end() - 1);
  if (during.empty()) during.push_back(readings.back());
  course.clock = mean_of(during, &DeviceReading::clock);
  course.memory_clock = mean_of(during, &DeviceReading::memory_clock);
  course.power = mean_of(during, &DeviceReading::power);
  if (const auto degrees = values_of(during, &DeviceReading::temperature)) {
    course.temperature = *std::max_element(degrees->begin(), degrees->end());
  }
  course.errors = growth_of(readings, &DeviceReading::errors);
  double throttled = 0.0;
  bool known = true;
  for (const TimedReading& each : during) {
    known = known && each.reading.reasons.has_value();
    const std::uint64_t reasons = each.reading.reasons.value_or(0) & kThrottling;
    course.reasons |= reasons;
    throttled += reasons != 0 ? 1.0 : 0.0;
  }
  if (known) course.throttled = throttled / static_cast<double>(during.size());
  add_energy(readings, course);
  return course;
}

// What the thread and the rank share; the thread may outlive the watch if a driver hangs.
struct DeviceWatch::Shared {
  struct Watched {
    std::vector<TimedReading> readings;
    std::optional<std::vector<int>> errors;
  };

  explicit Shared(std::vector<std::string> given) : addresses(std::move(given)) {}

  void watch();
  void read(std::vector<std::unique_ptr<DeviceState>>& states, std::vector<Watched>& found) const;
  // Waits for a flag that the thread sets; false if it takes too long.
  bool wait(const bool& flag) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, kDriverPatience, [&flag] { return flag; });
  }

  const std::vector<std::string> addresses;
  std::mutex mutex;
  std::condition_variable changed;
  bool begun = false;
  bool ended = false;
  bool finished = false;
  std::vector<Watched> found;  // complete once finished
};

void DeviceWatch::Shared::read(std::vector<std::unique_ptr<DeviceState>>& states,
                               std::vector<Watched>& into) const {
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i]) into[i].readings.push_back({monotonic_seconds(), states[i]->read()});
  }
}

void DeviceWatch::Shared::watch() {
  std::vector<std::unique_ptr<DeviceState>> states;
  for (const std::string& address : addresses) states.push_back(find_device_state(address));
  std::vector<Watched> mine(states.size());
  for (const auto& state : states) {
    if (state) state->errors();  // those of the time before
  }
  const auto start = SteadyClock::now();
  read(states, mine);
  const auto cost = SteadyClock::now() - start;
  const auto interval = std::max<SteadyClock::duration>(kReadInterval, kReadShare * cost);
  std::unique_lock lock(mutex);
  begun = true;
  changed.notify_all();
  while (!changed.wait_for(lock, interval, [this] { return ended; })) {
    lock.unlock();
    read(states, mine);
    lock.lock();
  }
  lock.unlock();
  read(states, mine);
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i]) mine[i].errors = states[i]->errors();
  }
  lock.lock();
  found = std::move(mine);
  finished = true;
  changed.notify_all();
}

DeviceWatch::DeviceWatch(MPI_Comm comm, const std::vector<std::string>& addresses,
                         const std::vector<int>& cpus)
    : comm_(comm), far_(is_far(addresses, cpus)) {
  int any = addresses.empty() ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm_);
  any_ = any != 0;
  if (any_) watched_ = share_out(comm_, addresses);
}

DeviceWatch::~DeviceWatch() { end(); }

void DeviceWatch::begin() {
  if (watched_.empty()) return;
  shared_ = std::make_shared<Shared>(watched_);
  // Signals are for the rank's own thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([shared = shared_] { shared->watch(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  shared_->wait(shared_->begun);
}

void DeviceWatch::end() {
  if (!shared_) return;
  bool begun = false;
  {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->ended) return;
    shared_->ended = true;
    begun = shared_->begun;
  }
  shared_->changed.notify_all();
  // A thread that never began hangs.
  if (begun) shared_->wait(shared_->finished);
}

void DeviceWatch::add_to(std::map<std::string, std::optional<double>>& covariates,
                         std::map<std::string, Value>& facts) const {
  if (!any_) return;
  struct Told {
    const char* name;
    MPI_Op op;
    std::optional<double> DeviceCourse::* member;
  };
  const std::array told{
      Told{"device_clock", MPI_MIN, &DeviceCourse::clock},
      Told{"device_memory_clock", MPI_MIN, &DeviceCourse::memory_clock},
      Told{"device_power", MPI_SUM, &DeviceCourse::power},
      Told{"device_temperature", MPI_MAX, &DeviceCourse::temperature},
      Told{"device_throttled", MPI_MAX, &DeviceCourse::throttled},
      Told{"device_ecc_uncorrected", MPI_SUM, &DeviceCourse::errors},
      Told{"device_energy", MPI_SUM, &DeviceCourse::energy},
      Told{"device_energy_error", MPI_SUM, &DeviceCourse::energy_error},
  };
  std::vector<DeviceCourse> courses;
  std::optional<double> xids = 0.0;
  std::string numbers;
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  const auto far = gather_texts(comm_, far_ ? std::to_string(rank) : std::string());
  long long fewest = std::numeric_limits<long long>::max();
  if (shared_) {
    const std::lock_guard lock(shared_->mutex);
    courses.resize(watched_.size());
    if (!shared_->finished) xids = std::nullopt;
    for (std::size_t i = 0; i < shared_->found.size(); ++i) {
      const Shared::Watched& each = shared_->found[i];
      courses[i] = course_of(each.readings);
      fewest = std::min(fewest, static_cast<long long>(each.readings.size()));
      if (!each.errors) xids = std::nullopt;
      if (xids && each.errors) *xids += static_cast<double>(each.errors->size());
      for (const int number : each.errors.value_or(std::vector<int>())) {
        numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
      }
    }
  }
  // The value over all devices, on rank 0; nothing if one of them is unknown.
  const auto combined = [&](MPI_Op op, const std::vector<std::optional<double>>& values) {
    double neutral = 0.0;
    if (op == MPI_MIN) neutral = std::numeric_limits<double>::infinity();
    if (op == MPI_MAX) neutral = -std::numeric_limits<double>::infinity();
    int unknown = 0;
    double mine = neutral;
    for (const auto& value : values) {
      if (!value) ++unknown;
      if (!value) continue;
      mine = op == MPI_MIN   ? std::min(mine, *value)
             : op == MPI_MAX ? std::max(mine, *value)
                             : mine + *value;
    }
    double all = neutral;
    int missing = 0;
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, op, 0, comm_);
    MPI_Reduce(&unknown, &missing, 1, MPI_INT, MPI_SUM, 0, comm_);
    return missing == 0 ? std::optional(all) : std::nullopt;
  };
  for (const Told& each : told) {
    std::vector<std::optional<double>> values;
    for (const DeviceCourse& course : courses) values.push_back(course.*each.member);
    const auto value = combined(each.op, values);
    if (rank == 0) covariates[each.name] = value;
  }
  const auto events = combined(MPI_SUM, {xids});
  unsigned long long reasons = 0;
  int integrated = 0;
  for (const DeviceCourse& course : courses) {
    reasons |= course.reasons;
    integrated |= course.counted ? 0 : 1;
  }
  unsigned long long any_reasons = 0;
  int any_integrated = 0;
  long long readings = 0;
  MPI_Reduce(&reasons, &any_reasons, 1, MPI_UNSIGNED_LONG_LONG, MPI_BOR, 0, comm_);
  MPI_Reduce(&integrated, &any_integrated, 1, MPI_INT, MPI_MAX, 0, comm_);
  MPI_Reduce(&fewest, &readings, 1, MPI_LONG_LONG, MPI_MIN, 0, comm_);
  const auto texts = gather_texts(comm_, numbers);
  if (rank != 0) return;
  covariates["device_xid"] = events;
  if (readings != std::numeric_limits<long long>::max()) {
    facts["device_readings"] = static_cast<std::int64_t>(readings);
  }
  if (any_reasons != 0) facts["device_throttle_reasons"] = throttle_names(any_reasons);
  const std::string xid_list = joined(texts), far_list = joined(far);
  if (!xid_list.empty()) facts["device_xids"] = xid_list;
  if (!far_list.empty()) facts["far_from_device"] = far_list;
  if (covariates["device_energy"]) {
    facts["device_energy_source"] = std::string(any_integrated != 0 ? "power" : "counter");
  }
}

}  // namespace assay
