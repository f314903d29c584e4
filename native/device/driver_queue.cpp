#include "device/driver_queue.hpp"

#include <array>

namespace assay::device::driver {
namespace {

class DriverBuffer : public Buffer {
 public:
  DriverBuffer(const Api& api, std::size_t bytes) : api_(api) {
    api_.check(api_.driver.allocate(&at_, bytes), "allocating " + std::to_string(bytes) + " B");
  }
  ~DriverBuffer() override { api_.driver.release(at_); }
  DriverBuffer(const DriverBuffer&) = delete;
  DriverBuffer& operator=(const DriverBuffer&) = delete;
  DevicePointer at() const { return at_; }
  void* address() const override { return reinterpret_cast<void*>(at_); }

 private:
  const Api& api_;
  DevicePointer at_ = 0;
};

DevicePointer at(const Buffer& buffer) { return static_cast<const DriverBuffer&>(buffer).at(); }

class DriverPinned : public PinnedMemory {
 public:
  DriverPinned(const Api& api, std::size_t bytes) : api_(api) {
    api_.check(api_.driver.pin(&data_, bytes, 0), "pinning memory of the host");
  }
  ~DriverPinned() override { api_.driver.unpin(data_); }
  DriverPinned(const DriverPinned&) = delete;
  DriverPinned& operator=(const DriverPinned&) = delete;
  void* data() override { return data_; }

 private:
  const Api& api_;
  void* data_ = nullptr;
};

struct DriverFunction : Function {
  explicit DriverFunction(Handle function) : handle(function) {}
  Handle handle;
};

class DriverProgram : public Program {
 public:
  DriverProgram(const Api& api, const std::string& code) : api_(api) {
    api_.check(api_.driver.load(&module_, code.c_str()), "loading a kernel");
  }
  ~DriverProgram() override { api_.driver.unload(module_); }
  DriverProgram(const DriverProgram&) = delete;
  DriverProgram& operator=(const DriverProgram&) = delete;
  std::unique_ptr<Function> function(const std::string& name) override {
    Handle found = nullptr;
    api_.check(api_.driver.function(&found, module_, name.c_str()), "taking the function " + name);
    return std::make_unique<DriverFunction>(found);
  }

 private:
  const Api& api_;
  Handle module_ = nullptr;
};

class DriverGraph : public Graph {
 public:
  // Takes the recorded graph over.
  DriverGraph(const Api& api, Handle recorded) : api_(api), recorded_(recorded) {
    const int code = api_.graphs.instantiate(&instance_, recorded_, 0);
    if (code != kSuccess) api_.graphs.drop(recorded_);
    api_.check(code, "preparing a graph of launches");
  }
  ~DriverGraph() override {
    api_.graphs.drop_instance(instance_);
    api_.graphs.drop(recorded_);
  }
  DriverGraph(const DriverGraph&) = delete;
  DriverGraph& operator=(const DriverGraph&) = delete;
  Handle instance() const { return instance_; }

 private:
  const Api& api_;
  Handle recorded_;
  Handle instance_ = nullptr;
};

class DriverQueue : public Queue {
 public:
  explicit DriverQueue(const Api& api) : api_(api) {
    constexpr unsigned kNoWaitForOthers = 1;
    api_.check(api_.driver.open_stream(&stream_, kNoWaitForOthers), "opening a queue");
    try {
      api_.check(api_.driver.make_event(&begin_, 0), "making an event");
      api_.check(api_.driver.make_event(&end_, 0), "making an event");
    } catch (...) {
      release();
      throw;
    }
  }
  ~DriverQueue() override { release(); }
  DriverQueue(const DriverQueue&) = delete;
  DriverQueue& operator=(const DriverQueue&) = delete;

  void launch(Function& function, std::size_t groups, std::size_t group_size,
              std::span<const Argument> arguments) override {
    std::array<Word, 16> words{};
    std::array<void*, 16> pointers{};
    if (arguments.size() > words.size()) throw DeviceError("a kernel has too many arguments");
    std::size_t shared = 0;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      shared += set(words[i], arguments[i]);
      pointers[i] = &words[i];
    }
    api_.check(
        api_.driver.launch(static_cast<DriverFunction&>(function).handle,
                           static_cast<unsigned>(groups), 1, 1, static_cast<unsigned>(group_size),
                           1, 1, static_cast<unsigned>(shared), stream_, pointers.data(), nullptr),
        "launching a kernel");
  }

  std::unique_ptr<Graph> record(const std::function<void()>& work) override {
    if (api_.graphs.launch == nullptr) {
      throw DeviceError(api_.names.library +
                        ": the driver has no graphs of launches; install a newer one");
    }
    constexpr int kOfThisThread = 1;
    api_.check(api_.graphs.begin(stream_, kOfThisThread), "recording launches");
    Handle recorded = nullptr;
    try {
      work();
    } catch (...) {
      if (api_.graphs.end(stream_, &recorded) == kSuccess) api_.graphs.drop(recorded);
      throw;
    }
    api_.check(api_.graphs.end(stream_, &recorded), "recording launches");
    return std::make_unique<DriverGraph>(api_, recorded);
  }

  void launch(const Graph& graph) override {
    api_.check(api_.graphs.launch(static_cast<const DriverGraph&>(graph).instance(), stream_),
               "launching a graph");
  }

  void write(Buffer& to, std::size_t offset, const void* from, std::size_t bytes) override {
    api_.check(api_.driver.to_device(at(to) + offset, from, bytes, stream_),
               "a transfer to the device");
  }

  void read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes) override {
    api_.check(api_.driver.to_host(to, at(from) + offset, bytes, stream_),
               "a transfer from the device");
  }

  void copy(Buffer& to, std::size_t offset, const Buffer& from, std::size_t from_offset,
            std::size_t bytes) override {
    api_.check(api_.copy(at(to) + offset, at(from) + from_offset, bytes, stream_),
               "a copy between memories of devices");
  }

  void flush() override {}  // work begins by itself

  void finish() override { api_.check(api_.driver.wait(stream_), "waiting for the device"); }

  void begin_timing() override {
    finish();
    api_.check(api_.driver.record_event(begin_, stream_), "recording an event");
  }

  double end_timing() override {
    api_.check(api_.driver.record_event(end_, stream_), "recording an event");
    finish();
    float milliseconds = 0.0F;
    api_.check(api_.driver.elapsed(&milliseconds, begin_, end_), "reading the device's clock");
    return 1e-3 * static_cast<double>(milliseconds);
  }

  void* handle() const override { return stream_; }

 private:
  union Word {
    DevicePointer pointer;
    std::int64_t wide;
    std::int32_t narrow;
    double real;
    float single;
  };

  // Sets an argument; returns the bytes of group memory that it asks for.
  static std::size_t set(Word& word, const Argument& argument) {
    if (const auto* buffer = std::get_if<const Buffer*>(&argument)) word.pointer = at(**buffer);
    if (const auto* wide = std::get_if<std::int64_t>(&argument)) word.wide = *wide;
    if (const auto* narrow = std::get_if<std::int32_t>(&argument)) word.narrow = *narrow;
    if (const auto* real = std::get_if<double>(&argument)) word.real = *real;
    if (const auto* single = std::get_if<float>(&argument)) word.single = *single;
    if (const auto* group = std::get_if<GroupMemory>(&argument)) {
      word.wide = static_cast<std::int64_t>(group->bytes);
      return group->bytes;
    }
    return 0;
  }

  void release() {
    if (begin_ != nullptr) api_.driver.drop_event(begin_);
    if (end_ != nullptr) api_.driver.drop_event(end_);
    if (stream_ != nullptr) api_.driver.close_stream(stream_);
  }

  const Api& api_;
  Handle stream_ = nullptr, begin_ = nullptr, end_ = nullptr;
};

}  // namespace

std::unique_ptr<Buffer> allocate(const Api& api, std::size_t bytes) {
  return std::make_unique<DriverBuffer>(api, bytes);
}

std::unique_ptr<PinnedMemory> allocate_pinned(const Api& api, std::size_t bytes) {
  return std::make_unique<DriverPinned>(api, bytes);
}

std::unique_ptr<Program> load(const Api& api, const std::string& code) {
  return std::make_unique<DriverProgram>(api, code);
}

std::unique_ptr<Queue> open_queue(const Api& api) { return std::make_unique<DriverQueue>(api); }

}  // namespace assay::device::driver
