#include "device/hip.hpp"

#include "device/driver_device.hpp"
#include "device/kfd.hpp"
#include "device/library.hpp"

// By AMD's manuals: HIP runtime API and HIPRTC, ROCm 5 to 7. The numbers of attributes are the same
// in all of them. The properties of a device aren't read: their layout changed with ROCm 6.
namespace assay::device::hip {
namespace {

using driver::DevicePointer;
using driver::Handle;

constexpr driver::Api::Attributes kAttributes{
    .clock = 5, .units = 63, .shares_memory = 16, .cache = 19};
constexpr int kByAddress = 4;  // kind of a copy: the addresses say where memory is

class Hip : public driver::Api {
 public:
  Hip()
      : Api({"hip", "HIP", "AMD", "HIPRTC"}, kAttributes),
        driver_library_({"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                         "libamdhip64.so", "/opt/rocm/lib/libamdhip64.so"},
                        "HIP: libamdhip64.so is missing; AMD's ROCm brings it"),
        // ROCm 5 has the compiler in the library of the driver.
        compiler_library_({"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
                           "/opt/rocm/lib/libhiprtc.so", "libamdhip64.so.5"},
                          "HIP: libhiprtc.so is missing; AMD's ROCm brings it") {
    find_functions();
    find_own();
    find_graphs();
    find_compiler();
  }

  std::string error_name(int code) const override {
    const char* const name = name_of_error_(code);
    return name == nullptr ? "error" : name;
  }

  // 60443484 is 6.4.43484.
  std::string version_text(int version) const override {
    return std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100) + "." +
           std::to_string(version % 100000);
  }

  void complete(Info& info, int) const override {
    const KfdNode node = kfd_node(info.address);
    info.architecture = node.architecture;
    if (node.cache > info.cache) info.cache = node.cache;
  }

  // Without an architecture HIPRTC compiles for the thread's device.
  std::vector<std::string> options(const Info& info) const override {
    std::vector<std::string> found{"-std=c++17"};
    if (!info.architecture.empty()) found.push_back("--gpu-architecture=" + info.architecture);
    return found;
  }

  // A device has one context, which needs no handle.
  int open(Handle*, int device) const override { return set_device_(device); }
  void close(int) const override {}
  int use(Handle, int device) const override { return set_device_(device); }
  int reach(Handle, int other) const override { return enable_access_(other, 0); }
  int leave(Handle, int other) const override { return disable_access_(other); }
  int copy(DevicePointer to, DevicePointer from, std::size_t bytes, Handle stream) const override {
    return copy_(to, from, bytes, kByAddress, stream);
  }

 private:
  void find_functions() {
    const Library& from = driver_library_;
    from.find(driver.init, "hipInit");
    from.find(driver.version, "hipDriverGetVersion");
    from.find(driver.count, "hipGetDeviceCount");
    from.find(driver.device, "hipDeviceGet");
    from.find(driver.name, "hipDeviceGetName");
    from.find(driver.memory, "hipDeviceTotalMem");
    from.find(driver.attribute, "hipDeviceGetAttribute");
    from.find(driver.address, "hipDeviceGetPCIBusId");
    from.find(driver.can_reach, "hipDeviceCanAccessPeer");
    from.find(driver.allocate, "hipMalloc");
    from.find(driver.release, "hipFree");
    from.find(driver.pin, "hipHostMalloc");
    from.find(driver.unpin, "hipHostFree");
    from.find(driver.to_device, "hipMemcpyHtoDAsync");
    from.find(driver.to_host, "hipMemcpyDtoHAsync");
    from.find(driver.open_stream, "hipStreamCreateWithFlags");
    from.find(driver.close_stream, "hipStreamDestroy");
    from.find(driver.wait, "hipStreamSynchronize");
    from.find(driver.make_event, "hipEventCreateWithFlags");
    from.find(driver.record_event, "hipEventRecord");
    from.find(driver.elapsed, "hipEventElapsedTime");
    from.find(driver.drop_event, "hipEventDestroy");
    from.find(driver.load, "hipModuleLoadData");
    from.find(driver.unload, "hipModuleUnload");
    from.find(driver.function, "hipModuleGetFunction");
    from.find(driver.launch, "hipModuleLaunchKernel");
  }

  void find_own() {
    const Library& from = driver_library_;
    from.find(name_of_error_, "hipGetErrorName");
    from.find(set_device_, "hipSetDevice");
    from.find(enable_access_, "hipDeviceEnablePeerAccess");
    from.find(disable_access_, "hipDeviceDisablePeerAccess");
    from.find(copy_, "hipMemcpyAsync");
  }

  void find_graphs() {
    const Library& from = driver_library_;
    if (!from.has("hipGraphInstantiateWithFlags")) return;
    from.find(graphs.begin, "hipStreamBeginCapture");
    from.find(graphs.end, "hipStreamEndCapture");
    from.find(graphs.drop, "hipGraphDestroy");
    from.find(graphs.instantiate, "hipGraphInstantiateWithFlags");
    from.find(graphs.launch, "hipGraphLaunch");
    from.find(graphs.drop_instance, "hipGraphExecDestroy");
  }

  void find_compiler() {
    const Library& from = compiler_library_;
    from.find(compiler.version, "hiprtcVersion");
    from.find(compiler.create, "hiprtcCreateProgram");
    from.find(compiler.compile, "hiprtcCompileProgram");
    from.find(compiler.log_size, "hiprtcGetProgramLogSize");
    from.find(compiler.log, "hiprtcGetProgramLog");
    from.find(compiler.code_size, "hiprtcGetCodeSize");
    from.find(compiler.code, "hiprtcGetCode");
    from.find(compiler.destroy, "hiprtcDestroyProgram");
    from.find(compiler.error, "hiprtcGetErrorString");
  }

  Library driver_library_;
  Library compiler_library_;
  const char* (*name_of_error_)(int) = nullptr;
  int (*set_device_)(int) = nullptr;
  int (*enable_access_)(int, unsigned) = nullptr;
  int (*disable_access_)(int) = nullptr;
  int (*copy_)(DevicePointer, DevicePointer, std::size_t, int, Handle) = nullptr;
};

}  // namespace

std::unique_ptr<Backend> load() { return driver::backend_of(std::make_unique<Hip>()); }

}  // namespace assay::device::hip
