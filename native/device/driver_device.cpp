#include "device/driver_device.hpp"

#include <array>
#include <mutex>
#include <utility>

#include "device/compiler_log.hpp"
#include "device/dialect.hpp"
#include "device/driver_queue.hpp"

namespace assay::device::driver {
namespace {

Info info_of(const Api& api, int device, int version) {
  const auto attribute = [&](int which) {
    int value = 0;
    return api.driver.attribute(&value, which, device) == kSuccess ? value : 0;
  };
  Info info;
  info.backend = api.names.backend;
  std::array<char, 256> name{};
  api.check(api.driver.name(name.data(), name.size() - 1, device), "reading a device's name");
  info.name = name.data();
  std::array<char, 32> address{};
  if (api.driver.address(address.data(), address.size() - 1, device) == kSuccess) {
    info.address = address.data();
  }
  info.vendor = api.names.vendor;
  info.driver = api.version_text(version);
  int major = 0;
  int minor = 0;
  if (api.compiler.version(&major, &minor) == kSuccess) {
    info.library = api.names.compiler + " " + std::to_string(major) + "." + std::to_string(minor);
  }
  info.kind = "gpu";
  std::size_t memory = 0;
  api.check(api.driver.memory(&memory, device), "reading a device's memory");
  info.memory = memory;
  info.cache = static_cast<std::uint64_t>(attribute(api.attributes.cache));
  info.units = attribute(api.attributes.units);
  info.clock = 1e3 * attribute(api.attributes.clock);
  info.doubles = true;
  info.shares_host_memory = attribute(api.attributes.shares_memory) != 0;
  api.complete(info, device);
  return info;
}

class DriverDevice : public Device {
 public:
  DriverDevice(const Api& api, int device, int version)
      : api_(api), device_(device), info_(info_of(api, device, version)) {
    api_.check(api_.open(&context_, device_), "opening " + info_.name);
  }
  ~DriverDevice() override { api_.close(device_); }
  DriverDevice(const DriverDevice&) = delete;
  DriverDevice& operator=(const DriverDevice&) = delete;

  const Info& info() const override { return info_; }

  void use() override { api_.check(api_.use(context_, device_), "changing to " + info_.name); }

  bool can_reach(const Device& other) const override {
    int can = 0;
    const int its = static_cast<const DriverDevice&>(other).device_;
    api_.check(api_.driver.can_reach(&can, device_, its), "asking for access between devices");
    return can != 0;
  }

  void reach(const Device& other, bool directly) override {
    use();
    const auto& its = static_cast<const DriverDevice&>(other);
    const int code =
        directly ? api_.reach(its.context_, its.device_) : api_.leave(its.context_, its.device_);
    if (code == (directly ? kReachedAlready : kNotReached)) return;
    api_.check(code, "changing the access of " + info_.name + " to " + other.info().name);
  }

  std::unique_ptr<Queue> queue() override { return open_queue(api_); }
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override {
    return driver::allocate(api_, bytes);
  }
  std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes) override {
    return driver::allocate_pinned(api_, bytes);
  }

  std::unique_ptr<Program> build(const std::string& text,
                                 std::span<const std::string> macros) override {
    const std::string whole = kDialect + text;
    // Devices that threads open at one time share what the first of them compiled.
    const std::scoped_lock lock(api_.compiling);
    std::string key = info_.architecture + "\n";
    for (const std::string& each : macros) key += each + "\n";
    std::string& code = api_.compiled[key + whole];
    if (code.empty()) code = compiled(whole, macros);
    return load(api_, code);
  }

 private:
  std::string compiled(const std::string& whole, std::span<const std::string> macros) const {
    Handle program = nullptr;
    require(api_.compiler.create(&program, whole.c_str(), "kernel.cu", 0, nullptr, nullptr));
    try {
      std::string code = code_of(program, macros);
      api_.compiler.destroy(&program);
      return code;
    } catch (...) {
      if (program != nullptr) api_.compiler.destroy(&program);
      throw;
    }
  }

  std::string code_of(Handle program, std::span<const std::string> macros) const {
    std::vector<std::string> options = api_.options(info_);
    for (const std::string& each : macros) options.push_back("-D" + each);
    std::vector<const char*> pointers;
    for (const std::string& each : options) pointers.push_back(each.c_str());
    const int code =
        api_.compiler.compile(program, static_cast<int>(pointers.size()), pointers.data());
    if (code != kSuccess) {
      throw DeviceError("a kernel can't be compiled for " + info_.name + ": " +
                        api_.names.compiler + " says " + api_.compiler.error(code) + ": " +
                        log_of(program));
    }
    std::size_t size = 0;
    require(api_.compiler.code_size(program, &size));
    std::string found(size, '\0');
    require(api_.compiler.code(program, found.data()));
    return found;
  }

  void require(int code) const {
    if (code == kSuccess) return;
    throw DeviceError("compiling a kernel failed: " + api_.names.compiler + " says " +
                      api_.compiler.error(code));
  }

  std::string log_of(Handle program) const {
    std::size_t size = 0;
    api_.compiler.log_size(program, &size);
    std::string log(size, '\0');
    api_.compiler.log(program, log.data());
    return first_error(log);
  }

  const Api& api_;
  int device_;
  Handle context_ = nullptr;
  Info info_;
};

class DriverBackend : public Backend {
 public:
  explicit DriverBackend(std::unique_ptr<Api> api) : api_(std::move(api)) {
    const std::string library = api_->names.library;
    // Drivers without a device say so here or when they count.
    const int code = api_->driver.init(0);
    int count = 0;
    if (!none(code)) {
      api_->check(code, library + ": starting the driver");
      api_->driver.version(&version_);
      const int counted = api_->driver.count(&count);
      if (!none(counted)) api_->check(counted, library + ": counting the devices");
    }
    if (count == 0) throw DeviceError(library + ": the driver finds no device");
    for (int i = 0; i < count; ++i) {
      int device = 0;
      api_->check(api_->driver.device(&device, i), library + ": finding a device");
      devices_.push_back(device);
    }
  }

  std::vector<Info> devices() override {
    std::vector<Info> found;
    for (const int each : devices_) found.push_back(info_of(*api_, each, version_));
    return found;
  }

  std::unique_ptr<Device> open(std::size_t place) override {
    return std::make_unique<DriverDevice>(*api_, devices_.at(place), version_);
  }

 private:
  static bool none(int code) { return code == kNoDevice || code == kInvalidDevice; }

  std::unique_ptr<Api> api_;
  int version_ = 0;  // of the driver
  std::vector<int> devices_;
};

}  // namespace

std::unique_ptr<Backend> backend_of(std::unique_ptr<Api> api) {
  return std::make_unique<DriverBackend>(std::move(api));
}

}  // namespace assay::device::driver
