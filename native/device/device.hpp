// The interface between kernels and devices: accelerators, or anything else that OpenCL offers.
// A backend implements it over a vendor's library, which is loaded at run time, so that no build
// needs a vendor's kit. All calls throw DeviceError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "harness/values.hpp"

namespace assay::device {

// A device or its library refused a call, or there is none. The measurement fails with this text.
class DeviceError : public KernelError {
 public:
  using KernelError::KernelError;
};

// What is known of a device without measuring. 0 and empty texts: unknown.
struct Info {
  std::string backend;  // "opencl"
  std::string name;
  std::string vendor;
  std::string driver;                // version of the driver
  std::string library;               // version of the interface: "OpenCL 3.0 …"
  std::string kind;                  // "gpu", "cpu", "accelerator"
  std::string architecture;          // CUDA's compute capability, "9.0", or AMD's name, "gfx90a"
  std::string address;               // on the PCI bus: "0000:3b:00.0"
  std::uint64_t memory = 0;          // B
  std::uint64_t largest_buffer = 0;  // B
  std::uint64_t cache = 0;           // B, of the last cache before memory
  int units = 0;                     // compute units (CUDA: multiprocessors)
  double clock = 0.0;                // Hz, the greatest
  bool doubles = false;              // whether it calculates in double precision
  bool shares_host_memory = false;
};

// Memory of the device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  // Its address in the device's memory, for libraries that take one (MPI, NCCL, cuBLAS).
  virtual void* address() const = 0;
};

// Memory of the host that the device reads and writes directly (pinned).
class PinnedMemory {
 public:
  virtual ~PinnedMemory() = default;
  virtual void* data() = 0;
};

// A function of a program, ready to be launched.
class Function {
 public:
  virtual ~Function() = default;
};

// Compiled kernel text.
class Program {
 public:
  virtual ~Program() = default;
  virtual std::unique_ptr<Function> function(const std::string& name) = 0;
};

// Bytes of group memory, as an argument.
struct GroupMemory {
  std::size_t bytes = 0;
};
using Argument =
    std::variant<const Buffer*, std::int64_t, std::int32_t, double, float, GroupMemory>;

// Launches that were recorded once, and are handed to the device as a whole.
class Graph {
 public:
  virtual ~Graph() = default;
};

// Work in order, on one device. Everything but the blocking calls returns at once.
class Queue {
 public:
  virtual ~Queue() = default;

  virtual void launch(Function& function, std::size_t groups, std::size_t group_size,
                      std::span<const Argument> arguments) = 0;
  // Records the launches that `work` adds to this queue, instead of doing them.
  virtual std::unique_ptr<Graph> record(const std::function<void()>& work) = 0;
  virtual void launch(const Graph& graph) = 0;
  // Transfers between the host and the device. The host's memory must stay until finish().
  virtual void write(Buffer& to, std::size_t offset, const void* from, std::size_t bytes) = 0;
  virtual void read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes) = 0;
  // A copy within the device's memory, or from or to that of another device of its backend.
  virtual void copy(Buffer& to, std::size_t offset, const Buffer& from, std::size_t from_offset,
                    std::size_t bytes) = 0;

  // Hands all work to the device, without waiting for it.
  virtual void flush() = 0;
  // Blocks until all work is done.
  virtual void finish() = 0;

  // The device's own clock: from the begin of the first work after begin_timing() to the end of the
  // last work before end_timing(), s. end_timing() blocks until that work is done.
  virtual void begin_timing() = 0;
  virtual double end_timing() = 0;

  // The vendor's handle (CUDA: the stream), for libraries that add work to a queue.
  virtual void* handle() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Info& info() const = 0;
  // Makes it the calling thread's device, as it is after it was opened. A thread with several
  // devices calls it before it uses another one or its queues and buffers.
  virtual void use() = 0;
  // Whether it can read and write the memory of another device of its backend directly.
  virtual bool can_reach(const Device& other) const = 0;
  // Allows or forbids that; copies without it go through the host's memory.
  virtual void reach(const Device& other, bool directly) = 0;
  virtual std::unique_ptr<Queue> queue() = 0;
  virtual std::unique_ptr<Buffer> allocate(std::size_t bytes) = 0;
  virtual std::unique_ptr<PinnedMemory> allocate_pinned(std::size_t bytes) = 0;
  // Compiles text in the common subset of the backends' languages (dialect.hpp). `options`: macros,
  // such as "REAL=double".
  virtual std::unique_ptr<Program> build(const std::string& text,
                                         std::span<const std::string> macros) = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::vector<Info> devices() = 0;
  // The device at that place of devices().
  virtual std::unique_ptr<Device> open(std::size_t place) = 0;
};

}  // namespace assay::device
