// The prelude every kernel includes: one set of names for CUDA, AMD and the host emulator.
//
// A branch supplies qualifiers, indices, barriers, shuffles, copies, types and these primitives:
//   kg_float_bits(float) -> uint32_t, kg_bits_float(uint32_t) -> float,
//   kg_fma, kg_sqrt, kg_max, kg_min (max and min return the other operand where one is NaN).
// Everything that must give the same numbers everywhere is written once, below, from these.
#ifndef KG_H
#define KG_H

#if defined(__HIP__) || defined(__HIPCC_RTC__) || defined(__AMDGCN__)
#define KG_AMD 1
#define KG_CUDA 0
#define KG_HOST 0
#elif defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define KG_AMD 0
#define KG_CUDA 1
#define KG_HOST 0
#else
#define KG_AMD 0
#define KG_CUDA 0
#define KG_HOST 1
#endif

#define KG_WARP 32

#if KG_AMD
#include "kg_amd.h"
#elif KG_CUDA
#include "kg_cuda.h"
#else
#include "kg_host.h"
#endif

#include "kg_math.h"

// Logical warps are 32 lanes of the linear thread index, on wave64 too.
__device__ __forceinline__ int kg_linear_thread() {
    return int(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
__device__ __forceinline__ int kg_lane() { return kg_linear_thread() & (KG_WARP - 1); }
__device__ __forceinline__ int kg_warp() { return kg_linear_thread() / KG_WARP; }

#endif
