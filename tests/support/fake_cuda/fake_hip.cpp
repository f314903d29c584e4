// HIP and HIPRTC without a device: the fake CUDA (fake_cuda.cpp) by HIP's names. Where HIP differs,
// so does this: how a device becomes the thread's, attributes, names of errors, kinds of copies.
#include <cstdint>
#include <cstdlib>
#include <cstring>

using Handle = void*;
using Pointer = std::uint64_t;

extern "C" {

int cuDeviceGetAttribute(int*, int, int);
int cuMemcpyAsync(Pointer, Pointer, std::size_t, Handle);
int cuCtxEnablePeerAccess(Handle, unsigned);
int cuLaunchKernel(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                   Handle, void**, void**);

// A function that has the same parameters in both.
int cuInit(unsigned);
int hipInit(unsigned a) { return cuInit(a); }
int cuDeviceGetCount(int*);
int hipGetDeviceCount(int* a) { return cuDeviceGetCount(a); }
int cuDeviceGet(int*, int);
int hipDeviceGet(int* a, int b) { return cuDeviceGet(a, b); }
int cuDeviceGetName(char*, int, int);
int hipDeviceGetName(char* a, int b, int c) { return cuDeviceGetName(a, b, c); }
int cuDeviceTotalMem_v2(std::size_t*, int);
int hipDeviceTotalMem(std::size_t* a, int b) { return cuDeviceTotalMem_v2(a, b); }
int cuDeviceGetPCIBusId(char*, int, int);
int hipDeviceGetPCIBusId(char* a, int b, int c) { return cuDeviceGetPCIBusId(a, b, c); }
int cuDeviceCanAccessPeer(int*, int, int);
int hipDeviceCanAccessPeer(int* a, int b, int c) { return cuDeviceCanAccessPeer(a, b, c); }
int cuMemAlloc_v2(Pointer*, std::size_t);
int hipMalloc(Pointer* a, std::size_t b) { return cuMemAlloc_v2(a, b); }
int cuPointerGetAttribute(void*, int, Pointer);
// The first field is the type of memory; an unknown pointer is an error until it is asked for.
static thread_local int last_error = 0;
int hipPointerGetAttributes(void* attributes, const void* at) {
  last_error = cuPointerGetAttribute(attributes, 2, reinterpret_cast<Pointer>(at));
  return last_error;
}
int hipRuntimeGetVersion(int* version) {
  *version = 60'300'000;
  return 0;
}
int hipPeekAtLastError() { return last_error; }
int hipGetLastError() {
  const int error = last_error;
  last_error = 0;
  return error;
}
int cuMemFree_v2(Pointer);
int hipFree(Pointer a) { return cuMemFree_v2(a); }
int cuMemHostAlloc(void**, std::size_t, unsigned);
int hipHostMalloc(void** a, std::size_t b, unsigned c) { return cuMemHostAlloc(a, b, c); }
int cuMemFreeHost(void*);
int hipHostFree(void* a) { return cuMemFreeHost(a); }
int cuMemcpyHtoDAsync_v2(Pointer, const void*, std::size_t, Handle);
int hipMemcpyHtoDAsync(Pointer a, const void* b, std::size_t c, Handle d) {
  return cuMemcpyHtoDAsync_v2(a, b, c, d);
}
int cuMemcpyDtoHAsync_v2(void*, Pointer, std::size_t, Handle);
int hipMemcpyDtoHAsync(void* a, Pointer b, std::size_t c, Handle d) {
  return cuMemcpyDtoHAsync_v2(a, b, c, d);
}
int cuStreamCreate(Handle*, unsigned);
int hipStreamCreateWithFlags(Handle* a, unsigned b) { return cuStreamCreate(a, b); }
int cuStreamDestroy_v2(Handle);
int hipStreamDestroy(Handle a) { return cuStreamDestroy_v2(a); }
int cuStreamSynchronize(Handle);
int hipStreamSynchronize(Handle a) { return cuStreamSynchronize(a); }
int cuStreamQuery(Handle);
int hipStreamQuery(Handle a) { return cuStreamQuery(a); }
int cuEventCreate(Handle*, unsigned);
int hipEventCreateWithFlags(Handle* a, unsigned b) { return cuEventCreate(a, b); }
int cuEventRecord(Handle, Handle);
int hipEventRecord(Handle a, Handle b) { return cuEventRecord(a, b); }
int cuEventElapsedTime(float*, Handle, Handle);
int hipEventElapsedTime(float* a, Handle b, Handle c) { return cuEventElapsedTime(a, b, c); }
int cuEventDestroy_v2(Handle);
int hipEventDestroy(Handle a) { return cuEventDestroy_v2(a); }
int cuModuleLoadData(Handle*, const void*);
int hipModuleLoadData(Handle* a, const void* b) { return cuModuleLoadData(a, b); }
int cuModuleUnload(Handle);
int hipModuleUnload(Handle a) { return cuModuleUnload(a); }
int cuModuleGetFunction(Handle*, Handle, const char*);
int hipModuleGetFunction(Handle* a, Handle b, const char* c) {
  return cuModuleGetFunction(a, b, c);
}
int cuStreamBeginCapture_v2(Handle, int);
int hipStreamBeginCapture(Handle a, int b) { return cuStreamBeginCapture_v2(a, b); }
int cuStreamEndCapture(Handle, Handle*);
int hipStreamEndCapture(Handle a, Handle* b) { return cuStreamEndCapture(a, b); }
int cuGraphDestroy(Handle);
int hipGraphDestroy(Handle a) { return cuGraphDestroy(a); }
int cuGraphInstantiateWithFlags(Handle*, Handle, unsigned long long);
int hipGraphInstantiateWithFlags(Handle* a, Handle b, unsigned long long c) {
  return cuGraphInstantiateWithFlags(a, b, c);
}
int cuGraphExecDestroy(Handle);
int hipGraphExecDestroy(Handle a) { return cuGraphExecDestroy(a); }
int cuGraphLaunch(Handle, Handle);
int hipGraphLaunch(Handle a, Handle b) { return cuGraphLaunch(a, b); }
int nvrtcCreateProgram(Handle*, const char*, const char*, int, const char* const*,
                       const char* const*);
int hiprtcCreateProgram(Handle* a, const char* b, const char* c, int d, const char* const* e,
                        const char* const* f) {
  return nvrtcCreateProgram(a, b, c, d, e, f);
}
int nvrtcCompileProgram(Handle, int, const char* const*);
int hiprtcCompileProgram(Handle a, int b, const char* const* c) {
  return nvrtcCompileProgram(a, b, c);
}
int nvrtcGetProgramLogSize(Handle, std::size_t*);
int hiprtcGetProgramLogSize(Handle a, std::size_t* b) { return nvrtcGetProgramLogSize(a, b); }
int nvrtcGetProgramLog(Handle, char*);
int hiprtcGetProgramLog(Handle a, char* b) { return nvrtcGetProgramLog(a, b); }
int nvrtcGetPTXSize(Handle, std::size_t*);
int hiprtcGetCodeSize(Handle a, std::size_t* b) { return nvrtcGetPTXSize(a, b); }
int nvrtcGetPTX(Handle, char*);
int hiprtcGetCode(Handle a, char* b) { return nvrtcGetPTX(a, b); }
int nvrtcDestroyProgram(Handle*);
int hiprtcDestroyProgram(Handle* a) { return nvrtcDestroyProgram(a); }

int hipDriverGetVersion(int* version) {
  *version = 60443484;
  return 0;
}
int hipSetDevice(int) { return 0; }
int hipDeviceEnablePeerAccess(int, unsigned flags) { return cuCtxEnablePeerAccess(nullptr, flags); }
int hipDeviceDisablePeerAccess(int) { return 0; }
int hipDeviceGetAttribute(int* value, int which, int device) {
  switch (which) {
    case 5:
      return cuDeviceGetAttribute(value, 13, device);  // clock
    case 19:
      return cuDeviceGetAttribute(value, 38, device);  // cache
    case 63:
      return cuDeviceGetAttribute(value, 16, device);  // units
    default:
      *value = 0;
      return 0;
  }
}
int hipMemcpyAsync(Pointer to, Pointer from, std::size_t bytes, int kind, Handle stream) {
  constexpr int kInvalidDirection = 21, kByAddress = 4;
  return kind == kByAddress ? cuMemcpyAsync(to, from, bytes, stream) : kInvalidDirection;
}
int hipModuleLaunchKernel(Handle function, unsigned groups, unsigned a, unsigned b, unsigned size,
                          unsigned c, unsigned d, unsigned shared, Handle stream, void** given,
                          void** more) {
  return cuLaunchKernel(function, groups, a, b, size, c, d, shared, stream, given, more);
}
const char* hipGetErrorName(int code) {
  return code == 2 ? "hipErrorOutOfMemory" : code == 214 ? "hipErrorECCNotCorrectable" : "hipError";
}
int hiprtcVersion(int* major, int* minor) {
  *major = 6;
  *minor = 4;
  return 0;
}
const char* hiprtcGetErrorString(int) { return "HIPRTC_ERROR_COMPILATION"; }

}  // extern "C"
