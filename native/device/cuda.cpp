#include "device/cuda.hpp"

#include <algorithm>

#include "device/driver_device.hpp"
#include "device/library.hpp"

// By NVIDIA's manuals: CUDA Driver API and NVRTC, CUDA 12. A suffix of a name is a version.
namespace assay::device::cuda {
namespace {

using driver::DevicePointer;
using driver::Handle;

constexpr driver::Api::Attributes kAttributes{
    .clock = 13, .units = 16, .shares_memory = 18, .cache = 38};
constexpr int kMajor = 75, kMinor = 76;

class Cuda : public driver::Api {
 public:
  Cuda()
      : Api({"cuda", "CUDA", "NVIDIA", "NVRTC"}, kAttributes),
        driver_library_({"libcuda.so.1"},
                        "CUDA: libcuda.so.1 is missing; NVIDIA's driver brings it"),
        compiler_library_({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                           "/usr/local/cuda/lib64/libnvrtc.so"},
                          "CUDA: libnvrtc.so is missing; the CUDA toolkit brings it, or the wheel "
                          "nvidia-cuda-nvrtc") {
    find_functions();
    find_own();
    find_graphs();
    find_compiler();
  }

  std::string error_name(int code) const override {
    const char* name = nullptr;
    name_of_error_(code, &name);
    return name == nullptr ? "error" : name;
  }

  // 12040 is 12.4.
  std::string version_text(int version) const override {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }

  void complete(Info& info, int device) const override {
    const auto attribute = [&](int which) {
      int value = 0;
      return driver.attribute(&value, which, device) == driver::kSuccess ? value : 0;
    };
    info.architecture = std::to_string(attribute(kMajor)) + "." + std::to_string(attribute(kMinor));
  }

  std::vector<std::string> options(const Info& info) const override {
    std::string architecture = "--gpu-architecture=compute_" + info.architecture;
    std::erase(architecture, '.');
    return {architecture, "--std=c++17"};
  }

  int open(Handle* context, int device) const override {
    int code = retain_(context, device);
    if (code != driver::kSuccess) return code;
    code = set_current_(*context);
    if (code != driver::kSuccess) release_(device);
    return code;
  }
  void close(int device) const override { release_(device); }
  int use(Handle context, int) const override { return set_current_(context); }
  int reach(Handle context, int) const override { return enable_access_(context, 0); }
  int leave(Handle context, int) const override { return disable_access_(context); }
  int copy(DevicePointer to, DevicePointer from, std::size_t bytes, Handle stream) const override {
    return copy_(to, from, bytes, stream);
  }

 private:
  void find_functions() {
    const Library& from = driver_library_;
    from.find(driver.init, "cuInit");
    from.find(driver.version, "cuDriverGetVersion");
    from.find(driver.count, "cuDeviceGetCount");
    from.find(driver.device, "cuDeviceGet");
    from.find(driver.name, "cuDeviceGetName");
    from.find(driver.memory, "cuDeviceTotalMem_v2");
    from.find(driver.attribute, "cuDeviceGetAttribute");
    from.find(driver.address, "cuDeviceGetPCIBusId");
    from.find(driver.can_reach, "cuDeviceCanAccessPeer");
    from.find(driver.allocate, "cuMemAlloc_v2");
    from.find(driver.release, "cuMemFree_v2");
    from.find(driver.pin, "cuMemHostAlloc");
    from.find(driver.unpin, "cuMemFreeHost");
    from.find(driver.to_device, "cuMemcpyHtoDAsync_v2");
    from.find(driver.to_host, "cuMemcpyDtoHAsync_v2");
    from.find(driver.open_stream, "cuStreamCreate");
    from.find(driver.close_stream, "cuStreamDestroy_v2");
    from.find(driver.wait, "cuStreamSynchronize");
    from.find(driver.make_event, "cuEventCreate");
    from.find(driver.record_event, "cuEventRecord");
    from.find(driver.elapsed, "cuEventElapsedTime");
    from.find(driver.drop_event, "cuEventDestroy_v2");
    from.find(driver.load, "cuModuleLoadData");
    from.find(driver.unload, "cuModuleUnload");
    from.find(driver.function, "cuModuleGetFunction");
    from.find(driver.launch, "cuLaunchKernel");
  }

  void find_own() {
    const Library& from = driver_library_;
    from.find(name_of_error_, "cuGetErrorName");
    from.find(retain_, "cuDevicePrimaryCtxRetain");
    from.find(release_, "cuDevicePrimaryCtxRelease_v2");
    from.find(set_current_, "cuCtxSetCurrent");
    from.find(enable_access_, "cuCtxEnablePeerAccess");
    from.find(disable_access_, "cuCtxDisablePeerAccess");
    from.find(copy_, "cuMemcpyAsync");
  }

  // Since CUDA 11.4.
  void find_graphs() {
    const Library& from = driver_library_;
    if (!from.has("cuGraphInstantiateWithFlags")) return;
    from.find(graphs.begin, "cuStreamBeginCapture_v2");
    from.find(graphs.end, "cuStreamEndCapture");
    from.find(graphs.drop, "cuGraphDestroy");
    from.find(graphs.instantiate, "cuGraphInstantiateWithFlags");
    from.find(graphs.launch, "cuGraphLaunch");
    from.find(graphs.drop_instance, "cuGraphExecDestroy");
  }

  void find_compiler() {
    const Library& from = compiler_library_;
    from.find(compiler.version, "nvrtcVersion");
    from.find(compiler.create, "nvrtcCreateProgram");
    from.find(compiler.compile, "nvrtcCompileProgram");
    from.find(compiler.log_size, "nvrtcGetProgramLogSize");
    from.find(compiler.log, "nvrtcGetProgramLog");
    from.find(compiler.code_size, "nvrtcGetPTXSize");
    from.find(compiler.code, "nvrtcGetPTX");
    from.find(compiler.destroy, "nvrtcDestroyProgram");
    from.find(compiler.error, "nvrtcGetErrorString");
  }

  Library driver_library_;
  Library compiler_library_;
  int (*name_of_error_)(int, const char**) = nullptr;
  int (*retain_)(Handle*, int) = nullptr;
  int (*release_)(int) = nullptr;
  int (*set_current_)(Handle) = nullptr;
  int (*enable_access_)(Handle, unsigned) = nullptr;
  int (*disable_access_)(Handle) = nullptr;
  int (*copy_)(DevicePointer, DevicePointer, std::size_t, Handle) = nullptr;
};

}  // namespace

std::unique_ptr<Backend> load() { return driver::backend_of(std::make_unique<Cuda>()); }

}  // namespace assay::device::cuda
