// A vendor's driver and its compiler of kernels. HIP mirrors CUDA's driver interface, so that one
// implementation (driver_device.cpp, driver_queue.cpp) serves both. cuda.cpp and hip.cpp fill in
// the functions, by NVIDIA's and AMD's reference manuals, so that no build needs their headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.hpp"

namespace assay::device::driver {

using Handle = void*;
using DevicePointer = std::uint64_t;

// HIP took the numbers over from CUDA.
inline constexpr int kSuccess = 0, kNoDevice = 100, kInvalidDevice = 101, kReachedAlready = 704,
                     kNotReached = 705;

// Functions that are alike but for their names.
struct Functions {
  int (*init)(unsigned);
  int (*version)(int*);
  int (*count)(int*);
  int (*device)(int*, int);
  int (*name)(char*, int, int);
  int (*memory)(std::size_t*, int);
  int (*attribute)(int*, int, int);
  int (*address)(char*, int, int);
  int (*can_reach)(int*, int, int);
  int (*allocate)(DevicePointer*, std::size_t);
  int (*release)(DevicePointer);
  int (*pin)(void**, std::size_t, unsigned);
  int (*unpin)(void*);
  int (*to_device)(DevicePointer, const void*, std::size_t, Handle);
  int (*to_host)(void*, DevicePointer, std::size_t, Handle);
  int (*open_stream)(Handle*, unsigned);
  int (*close_stream)(Handle);
  int (*wait)(Handle);
  int (*make_event)(Handle*, unsigned);
  int (*record_event)(Handle, Handle);
  int (*elapsed)(float*, Handle, Handle);
  int (*drop_event)(Handle);
  int (*load)(Handle*, const void*);
  int (*unload)(Handle);
  int (*function)(Handle*, Handle, const char*);
  int (*launch)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                Handle, void**, void**);
};

// Functions for graphs of launches; null where the driver has none.
struct GraphFunctions {
  int (*begin)(Handle, int);
  int (*end)(Handle, Handle*);
  int (*drop)(Handle);
  int (*instantiate)(Handle*, Handle, unsigned long long);
  int (*launch)(Handle, Handle);
  int (*drop_instance)(Handle);
};

struct Compiler {
  int (*version)(int*, int*);
  int (*create)(Handle*, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(Handle, int, const char* const*);
  int (*log_size)(Handle, std::size_t*);
  int (*log)(Handle, char*);
  int (*code_size)(Handle, std::size_t*);
  int (*code)(Handle, char*);
  int (*destroy)(Handle*);
  const char* (*error)(int);
};

// A loaded driver and its compiler. Functions that return an int return the driver's code.
class Api {
 public:
  struct Names {
    std::string backend;   // "cuda"
    std::string library;   // "CUDA"
    std::string vendor;    // "NVIDIA"
    std::string compiler;  // "NVRTC"
  };
  // Numbers of a device's attributes.
  struct Attributes {
    int clock, units, shares_memory, cache;  // kHz, -, yes or no, B
  };

  Api(Names called, Attributes numbered) : names(std::move(called)), attributes(numbered) {}
  virtual ~Api() = default;
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  virtual std::string error_name(int code) const = 0;
  // A driver's version as text.
  virtual std::string version_text(int version) const = 0;
  // Sets what the vendor knows besides the attributes: the architecture, and a greater cache.
  virtual void complete(Info& info, int device) const = 0;
  // Options of the compiler, but for macros.
  virtual std::vector<std::string> options(const Info& info) const = 0;
  // Makes a device the calling thread's. `context` is null for CUDA before open().
  virtual int open(Handle* context, int device) const = 0;
  virtual void close(int device) const = 0;
  virtual int use(Handle context, int device) const = 0;
  // The calling thread's device reaches the memory of another, or no longer does.
  virtual int reach(Handle other_context, int other) const = 0;
  virtual int leave(Handle other_context, int other) const = 0;
  // Between memories of devices.
  virtual int copy(DevicePointer to, DevicePointer from, std::size_t bytes,
                   Handle stream) const = 0;

  void check(int code, const std::string& doing) const {
    if (code == kSuccess) return;
    throw DeviceError(doing + " failed: " + names.library + " says " + error_name(code) + " (" +
                      std::to_string(code) + ")");
  }

  Names names;
  Attributes attributes;
  Functions driver{};
  GraphFunctions graphs{};
  Compiler compiler{};
  // Code by architecture, macros and text, and its lock.
  mutable std::mutex compiling;
  mutable std::map<std::string, std::string> compiled;
};

}  // namespace assay::device::driver
