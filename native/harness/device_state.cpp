#include "harness/device_state.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>

#include "harness/proc_text.hpp"
#include "harness/text_file.hpp"

namespace assay {
namespace {

constexpr double kMegahertz = 1e6;
constexpr double kThousandth = 1e-3;
constexpr double kMillionth = 1e-6;

// NVIDIA's management library: NVML API Reference Guide. Functions that this driver lacks are null.
struct Nvml {
  using Device = void*;
  using Set = void*;
  struct Event {  // nvmlEventData_t
    Device device;
    unsigned long long type, data;
    unsigned instance, compute;
  };

  int (*init)() = nullptr;
  int (*by_address)(const char*, Device*) = nullptr;
  int (*clock)(Device, int, unsigned*) = nullptr;
  int (*power)(Device, unsigned*) = nullptr;
  int (*temperature)(Device, int, unsigned*) = nullptr;
  int (*energy)(Device, unsigned long long*) = nullptr;
  int (*ecc)(Device, int, int, unsigned long long*) = nullptr;
  int (*reasons)(Device, unsigned long long*) = nullptr;
  int (*create_set)(Set*) = nullptr;
  int (*free_set)(Set) = nullptr;
  int (*add_to_set)(Device, unsigned long long, Set) = nullptr;
  int (*wait)(Set, Event*, unsigned) = nullptr;
};

template <typename F>
void find_function(void* library, F*& function, const char* name) {
  if (function == nullptr) function = reinterpret_cast<F*>(dlsym(library, name));
}

// The library, initialised; null if there is none. It is never closed: a driver may not survive it.
const Nvml* nvml() {
  static const std::optional<Nvml> loaded = []() -> std::optional<Nvml> {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    Nvml found;
    find_function(library, found.init, "nvmlInit_v2");
    find_function(library, found.by_address, "nvmlDeviceGetHandleByPciBusId_v2");
    find_function(library, found.clock, "nvmlDeviceGetClockInfo");
    find_function(library, found.power, "nvmlDeviceGetPowerUsage");
    find_function(library, found.temperature, "nvmlDeviceGetTemperature");
    find_function(library, found.energy, "nvmlDeviceGetTotalEnergyConsumption");
    find_function(library, found.ecc, "nvmlDeviceGetTotalEccErrors");
    find_function(library, found.reasons, "nvmlDeviceGetCurrentClocksEventReasons");
    find_function(library, found.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
    find_function(library, found.create_set, "nvmlEventSetCreate");
    find_function(library, found.free_set, "nvmlEventSetFree");
    find_function(library, found.add_to_set, "nvmlDeviceRegisterEvents");
    find_function(library, found.wait, "nvmlEventSetWait_v2");
    find_function(library, found.wait, "nvmlEventSetWait");
    const bool usable = found.init != nullptr && found.by_address != nullptr && found.init() == 0;
    return usable ? std::optional(found) : std::nullopt;
  }();
  return loaded ? &*loaded : nullptr;
}

class NvmlState : public DeviceState {
 public:
  NvmlState(const Nvml& library, Nvml::Device device) : library_(library), device_(device) {
    constexpr unsigned long long kXid = 0x8;
    const bool whole = library.create_set && library.free_set && library.add_to_set && library.wait;
    if (!whole || library.create_set(&set_) != 0) return;
    if (library.add_to_set(device, kXid, set_) == 0) return;
    library.free_set(set_);  // a device that doesn't tell errors
    set_ = nullptr;
  }
  ~NvmlState() override {
    if (set_ != nullptr) library_.free_set(set_);
  }
  NvmlState(const NvmlState&) = delete;
  NvmlState& operator=(const NvmlState&) = delete;

  DeviceReading read() override {
    constexpr int kMultiprocessors = 1, kMemory = 2;
    constexpr int kUncorrected = 1, kSinceStart = 0;
    DeviceReading found;
    found.clock = scaled(kMegahertz, library_.clock, kMultiprocessors);
    found.memory_clock = scaled(kMegahertz, library_.clock, kMemory);
    found.power = scaled(kThousandth, library_.power);
    found.temperature = scaled(1.0, library_.temperature, 0);
    unsigned long long value = 0;
    const auto told = [&value](auto function, auto... words) {
      return function != nullptr && function(words..., &value) == 0;
    };
    if (told(library_.energy, device_)) found.energy = kThousandth * static_cast<double>(value);
    if (told(library_.ecc, device_, kUncorrected, kSinceStart)) {
      found.errors = static_cast<double>(value);
    }
    if (told(library_.reasons, device_)) found.reasons = value;
    return found;
  }

  std::optional<std::vector<int>> errors() override {
    if (set_ == nullptr) return std::nullopt;
    std::vector<int> numbers;
    constexpr std::size_t kMost = 1000;
    Nvml::Event event{};
    while (numbers.size() < kMost && library_.wait(set_, &event, 0) == 0) {
      numbers.push_back(static_cast<int>(event.data));
    }
    return numbers;
  }

 private:
  // The number that a function gives in its last argument; `before`: those in front of it.
  template <typename Function, typename... Before>
  std::optional<double> scaled(double scale, Function function, Before... before) const {
    unsigned value = 0;
    if (function == nullptr || function(device_, before..., &value) != 0) return std::nullopt;
    return scale * value;
  }

  const Nvml& library_;
  Nvml::Device device_;
  Nvml::Set set_ = nullptr;
};

// Documentation/hwmon/sysfs-interface.rst and Documentation/gpu/amdgpu of Linux. The driver tells
// no reasons of throttling in text.
class FilesState : public DeviceState {
 public:
  FilesState(std::string folder, std::string monitor)
      : folder_(std::move(folder)), monitor_(std::move(monitor)) {}

  DeviceReading read() override {
    DeviceReading found;
    found.clock = scaled("freq1_input", 1.0);
    found.memory_clock = scaled("freq2_input", 1.0);
    found.power = scaled("power1_average", kMillionth);
    if (!found.power) found.power = scaled("power1_input", kMillionth);
    found.temperature = scaled("temp2_input", kThousandth);  // the junction
    if (!found.temperature) found.temperature = scaled("temp1_input", kThousandth);
    if (const auto text = read_text(folder_ + "/ras/umc_err_count")) {
      const auto counts = numbers_after(*text, "ue:");
      if (!counts.empty()) found.errors = counts[0];
    }
    return found;
  }

 private:
  std::optional<double> scaled(const char* file, double scale) const {
    const auto value = first_number(first_line(monitor_ + "/" + file));
    return value ? std::optional(scale * *value) : std::nullopt;
  }

  std::string folder_;
  std::string monitor_;
};

}  // namespace

std::string throttle_names(std::uint64_t reasons) {
  static constexpr std::pair<std::uint64_t, const char*> kNames[] = {
      {0x4, "power limit"},
      {0x8, "hardware slowdown"},
      {0x10, "group of devices"},
      {0x20, "temperature (software)"},
      {0x40, "temperature (hardware)"},
      {0x80, "power brake"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if (reasons & bit) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

std::unique_ptr<DeviceState> device_state_by_files(const std::string& folder) {
  for (const std::string& name : names_in(folder + "/hwmon")) {
    if (name.starts_with("hwmon")) {
      return std::make_unique<FilesState>(folder, folder + "/hwmon/" + name);
    }
  }
  return nullptr;
}

std::unique_ptr<DeviceState> find_device_state(const std::string& address) {
  std::string lower = address;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // NVIDIA's driver has no such monitor.
  if (auto found = device_state_by_files("/sys/bus/pci/devices/" + lower)) return found;
  const Nvml* const library = nvml();
  Nvml::Device device = nullptr;
  if (library == nullptr || library->by_address(address.c_str(), &device) != 0) return nullptr;
  return std::make_unique<NvmlState>(*library, device);
}

}  // namespace assay
