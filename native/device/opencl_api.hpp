// What of OpenCL's interface is used, by the specification (The Khronos Group, OpenCL 1.2, 2012),
// so that no build needs its headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::device::opencl {

using Int = std::int32_t;
using UInt = std::uint32_t;
using ULong = std::uint64_t;
using Bits = std::uint64_t;
using Handle = void*;

inline constexpr Int kSuccess = 0, kNoDevice = -1, kNoPlatform = -1001;
inline constexpr UInt kTrue = 1, kFalse = 0;
inline constexpr Bits kAnyType = 0xFFFFFFFF, kTypeCpu = 1 << 1, kTypeGpu = 1 << 2;
inline constexpr Bits kProfiling = 1 << 1;
inline constexpr Bits kReadWrite = 1 << 0, kHostMemory = 1 << 4;
inline constexpr Bits kMapRead = 1 << 0, kMapWrite = 1 << 1;

// Questions about a device, a program and an event.
inline constexpr UInt kType = 0x1000, kUnits = 0x1002, kClock = 0x100C, kLargestBuffer = 0x1010,
                      kCache = 0x101E, kMemory = 0x101F, kName = 0x102B, kVendor = 0x102C,
                      kDriverVersion = 0x102D, kVersion = 0x102F, kDoubles = 0x1032,
                      kSharesMemory = 0x1035;
inline constexpr UInt kBuildLog = 0x1183;
inline constexpr UInt kBegin = 0x1282, kEnd = 0x1283;

// The functions of the library, by their names in the specification.
struct Api {
  Int (*clGetPlatformIDs)(UInt, Handle*, UInt*);
  Int (*clGetDeviceIDs)(Handle, Bits, UInt, Handle*, UInt*);
  Int (*clGetDeviceInfo)(Handle, UInt, std::size_t, void*, std::size_t*);
  Handle (*clCreateContext)(const std::intptr_t*, UInt, const Handle*, void*, void*, Int*);
  Int (*clReleaseContext)(Handle);
  Handle (*clCreateCommandQueue)(Handle, Handle, Bits, Int*);
  Int (*clReleaseCommandQueue)(Handle);
  Handle (*clCreateBuffer)(Handle, Bits, std::size_t, void*, Int*);
  Int (*clReleaseMemObject)(Handle);
  Handle (*clCreateProgramWithSource)(Handle, UInt, const char**, const std::size_t*, Int*);
  Int (*clBuildProgram)(Handle, UInt, const Handle*, const char*, void*, void*);
  Int (*clGetProgramBuildInfo)(Handle, Handle, UInt, std::size_t, void*, std::size_t*);
  Int (*clReleaseProgram)(Handle);
  Handle (*clCreateKernel)(Handle, const char*, Int*);
  Int (*clSetKernelArg)(Handle, UInt, std::size_t, const void*);
  Int (*clReleaseKernel)(Handle);
  Int (*clEnqueueNDRangeKernel)(Handle, Handle, UInt, const std::size_t*, const std::size_t*,
                                const std::size_t*, UInt, const Handle*, Handle*);
  Int (*clEnqueueWriteBuffer)(Handle, Handle, UInt, std::size_t, std::size_t, const void*, UInt,
                              const Handle*, Handle*);
  Int (*clEnqueueReadBuffer)(Handle, Handle, UInt, std::size_t, std::size_t, void*, UInt,
                             const Handle*, Handle*);
  Int (*clEnqueueCopyBuffer)(Handle, Handle, Handle, std::size_t, std::size_t, std::size_t, UInt,
                             const Handle*, Handle*);
  void* (*clEnqueueMapBuffer)(Handle, Handle, UInt, Bits, std::size_t, std::size_t, UInt,
                              const Handle*, Handle*, Int*);
  Int (*clEnqueueUnmapMemObject)(Handle, Handle, void*, UInt, const Handle*, Handle*);
  Int (*clFlush)(Handle);
  Int (*clFinish)(Handle);
  Int (*clGetEventProfilingInfo)(Handle, UInt, std::size_t, void*, std::size_t*);
  Int (*clReleaseEvent)(Handle);
};

// The name of an error, such as "CL_OUT_OF_RESOURCES (-5)".
const char* error_name(Int code);

}  // namespace assay::device::opencl
