#include "device/opencl.hpp"

#include <array>
#include <utility>

#include "device/compiler_log.hpp"
#include "device/dialect.hpp"
#include "device/library.hpp"
#include "device/opencl_owned.hpp"

namespace assay::device::opencl {
namespace {

template <typename T>
T value(const Api& api, Handle device, UInt question, T unknown = {}) {
  T found{};
  return api.clGetDeviceInfo(device, question, sizeof found, &found, nullptr) == kSuccess ? found
                                                                                          : unknown;
}

std::string text(const Api& api, Handle device, UInt question) {
  std::size_t size = 0;
  if (api.clGetDeviceInfo(device, question, 0, nullptr, &size) != kSuccess || size == 0) return "";
  std::string found(size, '\0');
  if (api.clGetDeviceInfo(device, question, size, found.data(), nullptr) != kSuccess) return "";
  found.resize(found.find('\0') == std::string::npos ? size : found.find('\0'));
  return found;
}

Info info_of(const Api& api, Handle device) {
  Info info;
  info.backend = "opencl";
  info.name = text(api, device, kName);
  info.vendor = text(api, device, kVendor);
  info.driver = text(api, device, kDriverVersion);
  info.library = text(api, device, kVersion);
  const auto type = value<Bits>(api, device, kType);
  info.kind = (type & kTypeGpu) != 0 ? "gpu" : (type & kTypeCpu) != 0 ? "cpu" : "accelerator";
  info.memory = value<ULong>(api, device, kMemory);
  info.largest_buffer = value<ULong>(api, device, kLargestBuffer);
  info.cache = value<ULong>(api, device, kCache);
  info.units = static_cast<int>(value<UInt>(api, device, kUnits));
  info.clock = 1e6 * value<UInt>(api, device, kClock);
  info.doubles = value<Bits>(api, device, kDoubles) != 0;
  info.shares_host_memory = value<UInt>(api, device, kSharesMemory) != 0;
  return info;
}

class OpenClBuffer : public Buffer {
 public:
  explicit OpenClBuffer(Owned memory) : memory_(std::move(memory)) {}
  Handle get() const { return memory_.get(); }
  void* address() const override {
    throw DeviceError("OpenCL gives the memory of a device no address");
  }

 private:
  Owned memory_;
};

Handle memory_of(const Buffer& buffer) { return static_cast<const OpenClBuffer&>(buffer).get(); }

class OpenClFunction : public Function {
 public:
  explicit OpenClFunction(Owned function) : function_(std::move(function)) {}
  Handle get() const { return function_.get(); }

 private:
  Owned function_;
};

class OpenClProgram : public Program {
 public:
  OpenClProgram(const Api& api, Owned program) : api_(api), program_(std::move(program)) {}
  std::unique_ptr<Function> function(const std::string& name) override {
    Int code = kSuccess;
    Handle made = api_.clCreateKernel(program_.get(), name.c_str(), &code);
    check(code, "taking the function " + name);
    return std::make_unique<OpenClFunction>(Owned(made, api_.clReleaseKernel));
  }

 private:
  const Api& api_;
  Owned program_;
};

class OpenClQueue : public Queue {
 public:
  OpenClQueue(const Api& api, Owned queue) : api_(api), queue_(std::move(queue)) {}

  void launch(Function& function, std::size_t groups, std::size_t group_size,
              std::span<const Argument> arguments) override {
    Handle const kernel = static_cast<OpenClFunction&>(function).get();
    UInt place = 0;
    for (const Argument& each : arguments) set(kernel, place++, each);
    const std::size_t items = groups * group_size;
    Handle event = nullptr;
    check(api_.clEnqueueNDRangeKernel(queue_.get(), kernel, 1, nullptr, &items, &group_size, 0,
                                      nullptr, wanted(&event)),
          "launching a kernel");
    keep(event);
  }

  std::unique_ptr<Graph> record(const std::function<void()>&) override {
    throw DeviceError("OpenCL has no graphs of launches; use another mode, or backend=cuda or hip");
  }
  void launch(const Graph&) override {}  // there are none

  void write(Buffer& to, std::size_t offset, const void* from, std::size_t bytes) override {
    Handle event = nullptr;
    check(api_.clEnqueueWriteBuffer(queue_.get(), memory_of(to), kFalse, offset, bytes, from, 0,
                                    nullptr, wanted(&event)),
          "a transfer to the device");
    keep(event);
  }

  void read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes) override {
    Handle event = nullptr;
    check(api_.clEnqueueReadBuffer(queue_.get(), memory_of(from), kFalse, offset, bytes, to, 0,
                                   nullptr, wanted(&event)),
          "a transfer from the device");
    keep(event);
  }

  void copy(Buffer& to, std::size_t offset, const Buffer& from, std::size_t from_offset,
            std::size_t bytes) override {
    Handle event = nullptr;
    check(api_.clEnqueueCopyBuffer(queue_.get(), memory_of(from), memory_of(to), from_offset,
                                   offset, bytes, 0, nullptr, wanted(&event)),
          "a copy within the device");
    keep(event);
  }

  void flush() override { check(api_.clFlush(queue_.get()), "handing work to the device"); }

  void finish() override { check(api_.clFinish(queue_.get()), "waiting for the device"); }

  void begin_timing() override {
    finish();
    timing_ = true;
    first_ = Owned();
    last_ = Owned();
  }

  double end_timing() override {
    finish();
    timing_ = false;
    if (!first_) return 0.0;
    const Owned& last = last_ ? last_ : first_;
    return 1e-9 * static_cast<double>(when(last.get(), kEnd) - when(first_.get(), kBegin));
  }

  void* handle() const override { return queue_.get(); }

 private:
  Handle* wanted(Handle* event) const { return timing_ ? event : nullptr; }

  void keep(Handle event) {
    if (event == nullptr) return;
    (first_ ? last_ : first_) = Owned(event, api_.clReleaseEvent);
  }

  ULong when(Handle event, UInt question) const {
    ULong nanoseconds = 0;
    check(api_.clGetEventProfilingInfo(event, question, sizeof nanoseconds, &nanoseconds, nullptr),
          "reading the device's clock");
    return nanoseconds;
  }

  void set(Handle kernel, UInt place, const Argument& argument) const {
    Int code = kSuccess;
    if (const auto* buffer = std::get_if<const Buffer*>(&argument)) {
      Handle const memory = memory_of(**buffer);
      code = api_.clSetKernelArg(kernel, place, sizeof memory, &memory);
    } else if (const auto* group = std::get_if<GroupMemory>(&argument)) {
      code = api_.clSetKernelArg(kernel, place, group->bytes, nullptr);
    } else {
      std::visit(
          [&](const auto& number) {
            code = api_.clSetKernelArg(kernel, place, sizeof number, &number);
          },
          argument);
    }
    check(code, "setting argument " + std::to_string(place));
  }

  const Api& api_;
  Owned queue_;
  bool timing_ = false;
  Owned first_, last_;  // events
};

class MappedBuffer : public PinnedMemory {
 public:
  MappedBuffer(const Api& api, Handle queue, Owned memory, std::size_t bytes)
      : api_(api), queue_(queue), memory_(std::move(memory)) {
    Int code = kSuccess;
    data_ = api_.clEnqueueMapBuffer(queue_, memory_.get(), kTrue, kMapRead | kMapWrite, 0, bytes, 0,
                                    nullptr, nullptr, &code);
    check(code, "pinning memory of the host");
  }
  ~MappedBuffer() override {
    api_.clEnqueueUnmapMemObject(queue_, memory_.get(), data_, 0, nullptr, nullptr);
    api_.clFinish(queue_);
  }
  MappedBuffer(const MappedBuffer&) = delete;
  MappedBuffer& operator=(const MappedBuffer&) = delete;
  void* data() override { return data_; }

 private:
  const Api& api_;
  Handle queue_;
  Owned memory_;
  void* data_ = nullptr;
};

class OpenClDevice : public Device {
 public:
  OpenClDevice(const Api& api, Handle device)
      : api_(api), device_(device), info_(info_of(api, device)) {
    Int code = kSuccess;
    Handle const context = api_.clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    check(code, "opening " + info_.name);
    context_ = Owned(context, api_.clReleaseContext);
    mapping_ = make_queue();
  }

  const Info& info() const override { return info_; }
  void use() override {}
  // Each device has its own context, and OpenCL shares no memory between contexts.
  bool can_reach(const Device&) const override { return false; }
  void reach(const Device&, bool directly) override {
    if (directly) throw DeviceError("OpenCL copies between devices through the host only");
  }

  std::unique_ptr<Queue> queue() override {
    return std::make_unique<OpenClQueue>(api_, make_queue());
  }

  std::unique_ptr<Buffer> allocate(std::size_t bytes) override {
    return std::make_unique<OpenClBuffer>(make_buffer(kReadWrite, bytes));
  }

  std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes) override {
    return std::make_unique<MappedBuffer>(api_, mapping_.get(),
                                          make_buffer(kReadWrite | kHostMemory, bytes), bytes);
  }

  std::unique_ptr<Program> build(const std::string& text,
                                 std::span<const std::string> macros) override {
    const std::string whole = kDialect + text;
    const char* source = whole.c_str();
    const std::size_t length = whole.size();
    Int code = kSuccess;
    Handle const made = api_.clCreateProgramWithSource(context_.get(), 1, &source, &length, &code);
    check(code, "reading a kernel's text");
    Owned program(made, api_.clReleaseProgram);
    std::string options = "-cl-std=CL1.2";
    for (const std::string& each : macros) options += " -D" + each;
    code = api_.clBuildProgram(program.get(), 1, &device_, options.c_str(), nullptr, nullptr);
    if (code != kSuccess) {
      throw DeviceError("a kernel can't be compiled for " + info_.name + ": OpenCL says " +
                        error_name(code) + ": " + log_of(program.get()));
    }
    return std::make_unique<OpenClProgram>(api_, std::move(program));
  }

 private:
  Owned make_queue() {
    Int code = kSuccess;
    Handle const made = api_.clCreateCommandQueue(context_.get(), device_, kProfiling, &code);
    check(code, "opening a queue of " + info_.name);
    return {made, api_.clReleaseCommandQueue};
  }

  Owned make_buffer(Bits kind, std::size_t bytes) {
    if (info_.largest_buffer > 0 && bytes > info_.largest_buffer) {
      throw DeviceError(info_.name + " allows buffers of at most " +
                        std::to_string(info_.largest_buffer) + " B, not " + std::to_string(bytes) +
                        " B");
    }
    Int code = kSuccess;
    Handle const made = api_.clCreateBuffer(context_.get(), kind, bytes, nullptr, &code);
    check(code, "allocating " + std::to_string(bytes) + " B on " + info_.name);
    return {made, api_.clReleaseMemObject};
  }

  std::string log_of(Handle program) const {
    std::size_t size = 0;
    api_.clGetProgramBuildInfo(program, device_, kBuildLog, 0, nullptr, &size);
    std::string log(size, '\0');
    api_.clGetProgramBuildInfo(program, device_, kBuildLog, size, log.data(), nullptr);
    return first_error(log);
  }

  const Api& api_;
  Handle device_;
  Info info_;
  Owned context_;
  Owned mapping_;  // the queue that maps pinned memory
};

class OpenClBackend : public Backend {
 public:
  OpenClBackend()
      : library_({"libOpenCL.so.1", "libOpenCL.so"},
                 "OpenCL: libOpenCL.so.1 is missing; the vendor's driver brings it, or the package "
                 "ocl-icd-libopencl1") {
    load_functions();
    std::array<Handle, 64> platforms{};
    UInt count = 0;
    const Int code = api_.clGetPlatformIDs(platforms.size(), platforms.data(), &count);
    if (code != kNoPlatform) check(code, "listing the platforms");
    for (UInt i = 0; i < count && i < platforms.size(); ++i) add_devices(platforms[i]);
    if (devices_.empty()) {
      throw DeviceError(
          "OpenCL: no driver offers a device; the vendor's driver does, or the package "
          "pocl-opencl-icd for processors");
    }
  }

  std::vector<Info> devices() override {
    std::vector<Info> found;
    for (Handle each : devices_) found.push_back(info_of(api_, each));
    return found;
  }

  std::unique_ptr<Device> open(std::size_t place) override {
    return std::make_unique<OpenClDevice>(api_, devices_.at(place));
  }

 private:
  void add_devices(Handle platform) {
    std::array<Handle, 256> found{};
    UInt count = 0;
    const Int code = api_.clGetDeviceIDs(platform, kAnyType, found.size(), found.data(), &count);
    if (code == kNoDevice) return;
    check(code, "listing the devices");
    for (UInt i = 0; i < count && i < found.size(); ++i) devices_.push_back(found[i]);
  }

  void load_functions() {
#define ASSAY_FIND(name) library_.find(api_.name, #name)
    ASSAY_FIND(clGetPlatformIDs);
    ASSAY_FIND(clGetDeviceIDs);
    ASSAY_FIND(clGetDeviceInfo);
    ASSAY_FIND(clCreateContext);
    ASSAY_FIND(clReleaseContext);
    ASSAY_FIND(clCreateCommandQueue);
    ASSAY_FIND(clReleaseCommandQueue);
    ASSAY_FIND(clCreateBuffer);
    ASSAY_FIND(clReleaseMemObject);
    ASSAY_FIND(clCreateProgramWithSource);
    ASSAY_FIND(clBuildProgram);
    ASSAY_FIND(clGetProgramBuildInfo);
    ASSAY_FIND(clReleaseProgram);
    ASSAY_FIND(clCreateKernel);
    ASSAY_FIND(clSetKernelArg);
    ASSAY_FIND(clReleaseKernel);
    ASSAY_FIND(clEnqueueNDRangeKernel);
    ASSAY_FIND(clEnqueueWriteBuffer);
    ASSAY_FIND(clEnqueueReadBuffer);
    ASSAY_FIND(clEnqueueCopyBuffer);
    ASSAY_FIND(clEnqueueMapBuffer);
    ASSAY_FIND(clEnqueueUnmapMemObject);
    ASSAY_FIND(clFlush);
    ASSAY_FIND(clFinish);
    ASSAY_FIND(clGetEventProfilingInfo);
    ASSAY_FIND(clReleaseEvent);
#undef ASSAY_FIND
  }

  Library library_;
  Api api_{};
  std::vector<Handle> devices_;
};

}  // namespace

std::unique_ptr<Backend> load() { return std::make_unique<OpenClBackend>(); }

}  // namespace assay::device::opencl
