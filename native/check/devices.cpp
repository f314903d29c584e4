#include "check/devices.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "check/device_fma.hpp"
#include "device/backends.hpp"
#include "gpu/stream_work.hpp"
#include "gpu/transfer_work.hpp"
#include "harness/clock.hpp"

namespace assay::check {
namespace {

constexpr std::array<const char*, 3> kComponents{"device_triad", "device_fma", "device_link"};
enum Part : std::size_t { kTriad, kFma, kLink, kParts };

// As for gpu.stream, but with less memory: a check has to prepare and to verify it, too.
constexpr double kTimesCache = 4.0;
constexpr double kLeastArray = 16.0 * (1 << 20), kMostArray = 256.0 * (1 << 20);
constexpr double kUnknownCache = 16.0 * (1 << 20);
constexpr std::size_t kLinkBytes = std::size_t{16} << 20;
// A batch of operations, s: long beside the time of a launch.
constexpr double kBatch = 0.01;
constexpr std::int64_t kMostOperations = 1 << 14;
// The least time of a device whose link is measured in turn, s.
constexpr double kLeastTurn = 0.05;
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

std::string shown(double seconds) {
  std::string text = std::to_string(std::round(10.0 * seconds) / 10.0);
  return text.substr(0, text.find('.') + 2) + " s";
}

}  // namespace

// What a thread uses of one device.
struct OpenedDevice {
  std::unique_ptr<device::Device> device;
  std::array<std::unique_ptr<gpu::Work>, kParts> works;
  std::array<std::int64_t, kParts> counts{};   // operations of a batch
  std::array<double, kParts> per_operation{};  // B or flops
  double rate = 0.0;
  bool verified = false;
};

struct Devices::Opened {
  std::unique_ptr<device::Backend> backend;
  std::vector<device::Info> infos;
  std::vector<OpenedDevice> devices;
  double patience = 0.0;
};

namespace {

// What the threads of a step and the one that waits for them share.
struct Step {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<bool> done;
  std::vector<std::string> failed;
};

// Calls work(place) for each of these places on a thread of its own. `name` names a place in a
// sentence. Throws LateError and DeviceError about the first place that is late or fails.
void on_threads(const std::vector<std::size_t>& places, double limit, const std::string& late,
                const std::function<std::string(std::size_t)>& name,
                const std::function<void(std::size_t)>& work) {
  const auto step = std::make_shared<Step>();
  step->done.resize(places.size());
  step->failed.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::thread([step, work, i, place = places[i]] {
      std::string failed;
      try {
        work(place);
      } catch (const std::bad_alloc&) {
        failed = "the system refused memory";
      } catch (const std::exception& error) {
        failed = error.what();
      }
      const std::lock_guard lock(step->mutex);
      step->done[i] = true;
      step->failed[i] = failed;
      step->changed.notify_all();
    }).detach();
  }
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                       std::chrono::duration<double>(limit));
  std::unique_lock lock(step->mutex);
  const auto all = [&] {
    return std::all_of(step->done.begin(), step->done.end(), [](bool each) { return each; });
  };
  step->changed.wait_until(lock, end, all);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!step->failed[i].empty()) {
      const std::string of = name(places[i]);
      throw device::DeviceError((of.empty() ? "" : of + ": ") + step->failed[i]);
    }
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string of = name(places[i]);
    if (!step->done[i]) throw LateError((of.empty() ? "the driver" : of) + " " + late);
  }
}

// Chooses how many operations a batch holds. The first ones compile and allocate.
void calibrate(OpenedDevice& one, std::size_t part) {
  gpu::Work& work = *one.works[part];
  work.pass(1);
  std::int64_t count = 1;
  for (; count < kMostOperations; count *= 4) {
    const Ticks start = ticks();
    work.pass(count);
    const double taken = seconds(ticks() - start);
    if (taken < kBatch / 4) continue;
    count = std::clamp<std::int64_t>(std::llround(static_cast<double>(count) * kBatch / taken), 1,
                                     kMostOperations);
    break;
  }
  one.counts[part] = std::min(count, kMostOperations);
}

std::size_t array_elements(const device::Info& info, std::size_t element) {
  const double cache = info.cache == 0 ? kUnknownCache : static_cast<double>(info.cache);
  double bytes = std::clamp(kTimesCache * cache, kLeastArray, kMostArray);
  bytes = std::min(bytes, static_cast<double>(info.memory) / 8.0);
  return static_cast<std::size_t>(bytes) / element;
}

void prepare(OpenedDevice& one) {
  const device::Info& info = one.device->info();
  const bool single = !info.doubles;
  const std::size_t element = single ? sizeof(float) : sizeof(double);
  auto triad = std::make_unique<gpu::StreamWork>("triad", single, array_elements(info, element),
                                                 PlantedFault());
  const std::size_t elements = triad->choose(info);
  triad->allocate(*one.device, elements);
  one.per_operation[kTriad] = 3.0 * static_cast<double>(elements * element);
  one.works[kTriad] = std::move(triad);
  auto fma = std::make_unique<FmaWork>();
  const std::size_t groups = fma->choose(info);
  fma->allocate(*one.device, groups);
  one.per_operation[kFma] = FmaWork::operations_of_group() * static_cast<double>(groups);
  one.works[kFma] = std::move(fma);
  auto link = std::make_unique<gpu::TransferWork>("both", true, kLinkBytes, PlantedFault());
  link->allocate(*one.device, kLinkBytes);
  one.per_operation[kLink] = 2.0 * static_cast<double>(kLinkBytes);
  one.works[kLink] = std::move(link);
  for (std::size_t part = 0; part < kParts; ++part) calibrate(one, part);
}

void measure_one(OpenedDevice& one, std::size_t part, double span, bool damaged) {
  one.device->use();
  gpu::Work& work = *one.works[part];
  const std::int64_t count = one.counts[part];
  std::vector<double> rates;
  const Ticks begin = ticks();
  do {
    const Ticks start = ticks();
    work.pass(count);
    rates.push_back(static_cast<double>(count) * one.per_operation[part] /
                    seconds(ticks() - start));
  } while (seconds(ticks() - begin) < span);
  one.rate = median(std::move(rates));
  if (damaged) static_cast<FmaWork&>(work).damage();
  const double error = work.error();
  one.verified = error <= work.tolerance();
}

}  // namespace

Devices::Devices(const std::string& backend, double ready, double patience)
    : opened_(std::make_shared<Opened>()) {
  opened_->patience = patience;
  const Ticks start = ticks();
  const std::string late = "isn't ready after " + shown(ready);
  const auto nobody = [](std::size_t) { return std::string(); };
  on_threads({0}, ready, late, nobody, [opened = opened_, backend](std::size_t) {
    opened->backend = device::load_backend(backend);
    opened->infos = opened->backend->devices();
    const bool chosen = backend != "auto" ||
                        std::any_of(opened->infos.begin(), opened->infos.end(),
                                    [](const device::Info& each) { return each.kind != "cpu"; });
    if (!chosen) throw device::DeviceError("no library of an accelerator finds a device");
    opened->devices.resize(opened->infos.size());
  });
  std::vector<std::size_t> places(opened_->infos.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto name = [this](std::size_t place) {
    return "device " + std::to_string(place) + " (" + opened_->infos[place].name + ")";
  };
  const double left = std::max(ready - seconds(ticks() - start), 0.0);
  on_threads(places, left, late, name, [opened = opened_](std::size_t place) {
    OpenedDevice& one = opened->devices[place];
    one.device = opened->backend->open(place);
    prepare(one);
  });
}

Devices::~Devices() = default;

const std::vector<device::Info>& Devices::infos() const { return opened_->infos; }

std::vector<std::string> Devices::components() { return {kComponents.begin(), kComponents.end()}; }

Measured Devices::measure(std::string_view component, double span, const Fault& fault) {
  const auto* const found = std::find(kComponents.begin(), kComponents.end(), component);
  const auto part = static_cast<std::size_t>(found - kComponents.begin());
  std::vector<std::size_t> places(opened_->devices.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  const auto name = [this](std::size_t place) {
    return "device " + std::to_string(place) + " (" + opened_->infos[place].name + ")";
  };
  const auto run = [&](const std::vector<std::size_t>& some, double each) {
    const double limit = each + opened_->patience;
    const bool damaged = part == kFma && fault.is("value");
    on_threads(some, limit, "doesn't answer within " + shown(limit), name,
               [opened = opened_, part, each, damaged](std::size_t place) {
                 measure_one(opened->devices[place], part, each, damaged && place == 0);
               });
  };
  if (part == kLink) {
    // Devices share links and the host's memory: one after another.
    const double turn = std::max(span / static_cast<double>(places.size()), kLeastTurn);
    for (const std::size_t place : places) run({place}, turn);
  } else {
    run(places, span);
  }
  Measured measured{{}, {}, true};
  for (std::size_t place = 0; place < places.size(); ++place) {
    measured.values.push_back(opened_->devices[place].rate);
    measured.cpus.push_back(static_cast<int>(place));
    measured.verified = measured.verified && opened_->devices[place].verified;
  }
  return measured;
}

}  // namespace assay::check
