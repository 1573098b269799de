// The prelude's branch for NVIDIA: NVRTC (no system header but cuda_fp16.h) and nvcc.
// kg.h chooses it and adds the mathematics.
#pragma once

#include <cuda_fp16.h>

#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
#else
#include <cstdint>
#endif

#ifndef __CUDA_ARCH__
#define KG_ARCH 0
#else
#define KG_ARCH __CUDA_ARCH__
#endif

#define KG_DOT2 0
#if KG_ARCH == 600 || KG_ARCH == 620 || KG_ARCH >= 700
#define KG_FAST_FP16 1
#else
#define KG_FAST_FP16 0
#endif
#if KG_ARCH >= 800
#define KG_ASYNC_COPY 1
#else
#define KG_ASYNC_COPY 0
#endif
#if KG_ARCH >= 700
#define KG_COPY_BYTES 16
#else
#define KG_COPY_BYTES 8
#endif

// CUDA's second number is blocks per SM, which is the plan's own unit.
#define KG_LAUNCH_BOUNDS(threads, blocks_per_unit) __launch_bounds__(threads, blocks_per_unit)
#define KG_DYNAMIC_SHARED(type, name)                                          \
  extern __shared__ __align__(16) unsigned char kg_dynamic_shared_storage[];   \
  type *name = reinterpret_cast<type *>(kg_dynamic_shared_storage)

__device__ __forceinline__ void kg_syncwarp() { __syncwarp(); }

template <typename T> __device__ __forceinline__ T kg_shfl(T value, int lane, int width = KG_WARP) {
  return __shfl_sync(0xffffffffu, value, lane, width);
}
template <typename T> __device__ __forceinline__ T kg_shfl_xor(T value, int mask, int width = KG_WARP) {
  return __shfl_xor_sync(0xffffffffu, value, mask, width);
}
template <typename T> __device__ __forceinline__ T kg_shfl_down(T value, int delta, int width = KG_WARP) {
  return __shfl_down_sync(0xffffffffu, value, delta, width);
}
template <typename T> __device__ __forceinline__ T kg_shfl_up(T value, int delta, int width = KG_WARP) {
  return __shfl_up_sync(0xffffffffu, value, delta, width);
}

// Bits, and the operations that every target rounds alike; max and min pass over a NaN.
__device__ __forceinline__ uint32_t kg_float_bits(float value) { return __float_as_uint(value); }
__device__ __forceinline__ float kg_bits_float(uint32_t bits) { return __uint_as_float(bits); }
__device__ __forceinline__ float kg_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ float kg_sqrt(float value) { return __fsqrt_rn(value); }
__device__ __forceinline__ float kg_max(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ float kg_min(float a, float b) { return fminf(a, b); }

typedef __half kg_half;
typedef __half2 kg_half2;
struct kg_bf16 {
  uint16_t bits;
};

__device__ __forceinline__ float kg_to_float(kg_half value) { return __half2float(value); }
__device__ __forceinline__ float kg_to_float(kg_bf16 value) { return __uint_as_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ kg_half kg_to_half(float value) { return __float2half_rn(value); }
__device__ __forceinline__ kg_bf16 kg_to_bf16(float value) {
  // Round to nearest even by integers, the same on every target; a NaN keeps a bit of its payload.
  const uint32_t bits = __float_as_uint(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return kg_bf16{uint16_t(nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
__device__ __forceinline__ kg_half2 kg_make_half2(kg_half a, kg_half b) { return __halves2half2(a, b); }
__device__ __forceinline__ kg_half2 kg_make_half2(float a, float b) { return __floats2half2_rn(a, b); }
__device__ __forceinline__ kg_half2 kg_hadd2(kg_half2 a, kg_half2 b) { return __hadd2(a, b); }
__device__ __forceinline__ kg_half2 kg_hmul2(kg_half2 a, kg_half2 b) { return __hmul2(a, b); }
__device__ __forceinline__ kg_half2 kg_hfma2(kg_half2 a, kg_half2 b, kg_half2 c) { return __hfma2(a, b, c); }
__device__ __forceinline__ float kg_dot2(kg_half2 a, kg_half2 b, float c) {
  return __fmaf_rn(__high2float(a), __high2float(b), __fmaf_rn(__low2float(a), __low2float(b), c));
}

template <int BYTES> struct kg_copy_unit;
template <> struct kg_copy_unit<4> { typedef uint1 type; };
template <> struct kg_copy_unit<8> { typedef uint2 type; };
template <> struct kg_copy_unit<16> { typedef uint4 type; };

// From global to shared memory; complete for this thread after kg_copy_wait, for the block after a barrier too.
template <int BYTES> __device__ __forceinline__ void kg_copy(void *shared, const void *global) {
#if KG_ASYNC_COPY
  const uint32_t to = uint32_t(__cvta_generic_to_shared(shared));
  if (BYTES == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(global), "n"(BYTES) : "memory");
#else
  typedef typename kg_copy_unit<BYTES>::type unit;
  *static_cast<unit *>(shared) = *static_cast<const unit *>(global);
#endif
}
__device__ __forceinline__ void kg_copy_commit() {
#if KG_ASYNC_COPY
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int GROUPS> __device__ __forceinline__ void kg_copy_wait() {
#if KG_ASYNC_COPY
  asm volatile("cp.async.wait_group %0;" ::"n"(GROUPS) : "memory");
#endif
}
