// What of cuBLASLt's and hipBLASLt's interfaces is used, by their reference manuals (NVIDIA, cuBLAS
// 12.9; AMD, hipBLASLt 0.12), so that no build needs their headers. Both have the same functions
// under another prefix, with other numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace assay::device::lt {

using Handle = void*;

inline constexpr int kSuccess = 0;
// The attribute of a preference: the most bytes of workspace. The same in both libraries.
inline constexpr int kMostWorkspace = 1;

// The functions of either library, by their names after the prefix.
struct Api {
  int (*Create)(Handle*);
  int (*Destroy)(Handle);
  int (*MatmulDescCreate)(Handle*, int compute_type, int scale_type);
  int (*MatmulDescDestroy)(Handle);
  int (*MatmulDescSetAttribute)(Handle, int, const void*, std::size_t);
  int (*MatrixLayoutCreate)(Handle*, int type, std::uint64_t rows, std::uint64_t columns,
                            std::int64_t leading);
  int (*MatrixLayoutDestroy)(Handle);
  int (*MatmulPreferenceCreate)(Handle*);
  int (*MatmulPreferenceDestroy)(Handle);
  int (*MatmulPreferenceSetAttribute)(Handle, int, const void*, std::size_t);
  int (*MatmulAlgoGetHeuristic)(Handle, Handle operation, Handle a, Handle b, Handle c, Handle d,
                                Handle preference, int wanted, void* results, int* found);
  int (*Matmul)(Handle, Handle operation, const void* alpha, const void* a, Handle a_layout,
                const void* b, Handle b_layout, const void* beta, const void* c, Handle c_layout,
                void* d, Handle d_layout, const void* algorithm, void* workspace,
                std::size_t workspace_bytes, Handle stream);
};

// cublasLtGetProperty(type, value), and hipblasLtGetVersion(handle, value).
using GetProperty = int (*)(int, int*);
using GetVersion = int (*)(Handle, int*);

// Types of numbers: cudaDataType_t and hipDataType agree.
inline constexpr int kReal32 = 0, kReal64 = 1, kReal16 = 2, kInt8 = 3, kInt32 = 10, kBfloat16 = 14,
                     kFp8 = 28;
inline constexpr int kFp8WithoutNegativeZero = 1000;  // in hipDataType only

// What differs between the libraries.
struct Vendor {
  const char* backend;
  const char* name;
  const char* prefix;
  std::vector<std::string> files;
  const char* missing;
  // Attributes of an operation, and the value that transposes.
  int transpose_a, transposed;
  // Types of computation.
  int compute_32f, compute_tf32, compute_64f, compute_32i;
  std::size_t algorithm_bytes;  // of the description of an algorithm
  const char* const* statuses;  // names of status codes
  std::size_t status_count;
  const char* status_prefix;
};

inline constexpr const char* kCublasStatuses[] = {
    "SUCCESS",       "NOT_INITIALIZED", nullptr,         "ALLOC_FAILED",     nullptr,
    nullptr,         nullptr,           "INVALID_VALUE", "ARCH_MISMATCH",    nullptr,
    nullptr,         "MAPPING_ERROR",   nullptr,         "EXECUTION_FAILED", "INTERNAL_ERROR",
    "NOT_SUPPORTED", "LICENSE_ERROR"};
inline constexpr const char* kHipblasStatuses[] = {
    "SUCCESS",       "NOT_INITIALIZED",   "ALLOC_FAILED",   "INVALID_VALUE",
    "MAPPING_ERROR", "EXECUTION_FAILED",  "INTERNAL_ERROR", "NOT_SUPPORTED",
    "ARCH_MISMATCH", "HANDLE_IS_NULLPTR", "INVALID_ENUM",   "UNKNOWN"};

inline const Vendor kCublas{
    "cuda",
    "cuBLASLt",
    "cublasLt",
    {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"},
    "cuBLASLt: libcublasLt.so is missing; the CUDA toolkit brings it, or the wheel "
    "nvidia-cublas; library=own multiplies without it",
    3,
    1,
    68,
    77,
    70,
    72,
    64,
    kCublasStatuses,
    std::size(kCublasStatuses),
    "CUBLAS_STATUS_"};
inline const Vendor kHipblas{
    "hip",
    "hipBLASLt",
    "hipblasLt",
    {"libhipblaslt.so.1", "libhipblaslt.so.0", "libhipblaslt.so", "/opt/rocm/lib/libhipblaslt.so"},
    "hipBLASLt: libhipblaslt.so is missing; ROCm's package hipblaslt brings it; library=own "
    "multiplies without it",
    0,
    112,
    2,
    6,
    7,
    9,
    24,
    kHipblasStatuses,
    std::size(kHipblasStatuses),
    "HIPBLAS_STATUS_"};

}  // namespace assay::device::lt
