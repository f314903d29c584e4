// The common subset of OpenCL C, CUDA C and HIP in which kernels are written: one text for all.
#pragma once

namespace assay::device {

// Precedes every kernel text.
inline constexpr const char* kDialect = R"(
#ifdef __OPENCL_VERSION__
#define FUNCTION __kernel void
#define GLOBAL __global
#define GROUP_ARGUMENT(type, name) __local type* name
#define GROUP_ARRAY(type, name)
#define ITEM ((LONG)get_local_id(0))
#define GROUP ((LONG)get_group_id(0))
#define GROUP_SIZE ((LONG)get_local_size(0))
#define GROUPS ((LONG)get_num_groups(0))
#define SYNCHRONISE barrier(CLK_LOCAL_MEM_FENCE)
#define RESTRICT restrict
typedef long LONG;
typedef int INT;
#pragma OPENCL FP_CONTRACT ON
#else
#define FUNCTION extern "C" __global__ void
#define GLOBAL
#define GROUP_ARGUMENT(type, name) LONG name##_bytes
#define GROUP_ARRAY(type, name) extern __shared__ type name[]
#define ITEM ((LONG)threadIdx.x)
#define GROUP ((LONG)blockIdx.x)
#define GROUP_SIZE ((LONG)blockDim.x)
#define GROUPS ((LONG)gridDim.x)
#define SYNCHRONISE __syncthreads()
#define RESTRICT __restrict__
typedef long long LONG;
typedef int INT;
#endif
#define INDEX (GROUP * GROUP_SIZE + ITEM)
)";

}  // namespace assay::device
