// The prelude's branch for AMD: clang's AMDGPU target without any ROCm header or device library, and HIPRTC.
// kg.h chooses it and adds the mathematics.
#pragma once

// HIPRTC and hipcc bring qualifiers, indices, vectors and integers of their own.
#if !defined(__HIPCC_RTC__) && !defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H)
#define KG_BARE 1
#else
#define KG_BARE 0
#endif

#if KG_BARE
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))

typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __UINTPTR_TYPE__ uintptr_t;

struct __attribute__((aligned(8))) float2 { float x, y; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
__device__ __forceinline__ float2 make_float2(float x, float y) { return float2{x, y}; }
__device__ __forceinline__ float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
#endif

#ifdef __AMDGCN_WAVEFRONT_SIZE__
#define KG_WAVE __AMDGCN_WAVEFRONT_SIZE__
#elif defined(__GFX9__) || defined(__GFX8__)
#define KG_WAVE 64
#else
#define KG_WAVE 32
#endif
#define KG_FAST_FP16 1
#if __has_builtin(__builtin_amdgcn_fdot2) && (defined(__gfx906__) || defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__))
#define KG_DOT2 1
#else
#define KG_DOT2 0
#endif
#define KG_ASYNC_COPY 0
#define KG_COPY_BYTES 16

// The plan counts blocks per CU (GCN) or WGP (RDNA), both of four SIMDs; the compiler wants waves per SIMD.
#define KG_WAVES_PER_SIMD(threads, blocks) ((((threads) + KG_WAVE - 1) / KG_WAVE * (blocks) + 3) / 4)
#define KG_LAUNCH_BOUNDS(threads, blocks_per_unit)                             \
  __attribute__((amdgpu_flat_work_group_size(1, threads),                      \
                 amdgpu_waves_per_eu(KG_WAVES_PER_SIMD(threads, blocks_per_unit))))
#define KG_DYNAMIC_SHARED(type, name)                                          \
  extern __shared__ __attribute__((aligned(16))) unsigned char kg_dynamic_shared_storage[]; \
  type *name = reinterpret_cast<type *>(kg_dynamic_shared_storage)

#if KG_BARE
// Code object version 5: the runtime writes three 32-bit block counts, then three 16-bit block sizes.
__device__ __forceinline__ uint32_t kg_hw_grid(int axis) {
  typedef __attribute__((address_space(4))) const uint32_t counts;
  return ((counts *)__builtin_amdgcn_implicitarg_ptr())[axis];
}
__device__ __forceinline__ uint32_t kg_hw_block(int axis) {
  typedef __attribute__((address_space(4))) const uint16_t sizes;
  return ((sizes *)__builtin_amdgcn_implicitarg_ptr())[6 + axis];
}

#define KG_INDEX(type, name, on_x, on_y, on_z)                                 \
  struct type {                                                                \
    __declspec(property(get = get_x)) uint32_t x;                              \
    __declspec(property(get = get_y)) uint32_t y;                              \
    __declspec(property(get = get_z)) uint32_t z;                              \
    static __device__ __forceinline__ uint32_t get_x() { return on_x; }        \
    static __device__ __forceinline__ uint32_t get_y() { return on_y; }        \
    static __device__ __forceinline__ uint32_t get_z() { return on_z; }        \
  };                                                                           \
  extern const __device__ __attribute__((weak)) type name;
KG_INDEX(kg_thread_index, threadIdx, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), __builtin_amdgcn_workitem_id_z())
KG_INDEX(kg_block_index, blockIdx, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), __builtin_amdgcn_workgroup_id_z())
KG_INDEX(kg_block_size, blockDim, kg_hw_block(0), kg_hw_block(1), kg_hw_block(2))
KG_INDEX(kg_grid_size, gridDim, kg_hw_grid(0), kg_hw_grid(1), kg_hw_grid(2))
#undef KG_INDEX

__device__ __forceinline__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
#endif

// The lane of the hardware's wave, 0 to 63 on wave64; the logical warp is its lower or upper half.
__device__ __forceinline__ int kg_hw_lane() {
#if KG_WAVE == 64
  return int(__builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u)));
#else
  return int(__builtin_amdgcn_mbcnt_lo(~0u, 0u));
#endif
}

__device__ __forceinline__ void kg_syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
}

template <typename T> __device__ __forceinline__ T kg_hw_fetch(T value, int lane) {
  static_assert(sizeof(T) == 4, "shuffles move 32-bit values");
  const int got = __builtin_amdgcn_ds_bpermute(lane << 2, __builtin_bit_cast(int, value));
  return __builtin_bit_cast(T, got);
}
template <typename T> __device__ __forceinline__ T kg_shfl(T value, int lane, int width = KG_WARP) {
  return kg_hw_fetch(value, (kg_hw_lane() & ~(width - 1)) | (lane & (width - 1)));
}
template <typename T> __device__ __forceinline__ T kg_shfl_xor(T value, int mask, int width = KG_WARP) {
  const int self = kg_hw_lane();
  const int from = self ^ mask;
  return kg_hw_fetch(value, (from | (width - 1)) > (self | (width - 1)) ? self : from);
}
template <typename T> __device__ __forceinline__ T kg_shfl_down(T value, int delta, int width = KG_WARP) {
  const int self = kg_hw_lane();
  return kg_hw_fetch(value, (self & (width - 1)) + delta < width ? self + delta : self);
}
template <typename T> __device__ __forceinline__ T kg_shfl_up(T value, int delta, int width = KG_WARP) {
  const int self = kg_hw_lane();
  return kg_hw_fetch(value, (self & (width - 1)) >= delta ? self - delta : self);
}

// Bits, and the operations that every target rounds alike; max and min pass over a NaN.
__device__ __forceinline__ uint32_t kg_float_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
__device__ __forceinline__ float kg_bits_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
__device__ __forceinline__ float kg_fma(float a, float b, float c) { return __builtin_elementwise_fma(a, b, c); }
__device__ __forceinline__ float kg_sqrt(float value) { return __builtin_elementwise_sqrt(value); }
__device__ __forceinline__ float kg_max(float a, float b) { return __builtin_elementwise_max(a, b); }
__device__ __forceinline__ float kg_min(float a, float b) { return __builtin_elementwise_min(a, b); }

typedef _Float16 kg_half;
typedef _Float16 kg_half2 __attribute__((ext_vector_type(2)));
struct kg_bf16 {
  uint16_t bits;
};

__device__ __forceinline__ float kg_to_float(kg_half value) { return float(value); }
__device__ __forceinline__ float kg_to_float(kg_bf16 value) { return kg_bits_float(uint32_t(value.bits) << 16); }
__device__ __forceinline__ kg_half kg_to_half(float value) { return kg_half(value); }
__device__ __forceinline__ kg_bf16 kg_to_bf16(float value) {
  // Round to nearest even by integers, the same on every target; a NaN keeps a bit of its payload.
  const uint32_t bits = kg_float_bits(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  return kg_bf16{uint16_t(nan ? (bits >> 16) | 0x40u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}
__device__ __forceinline__ kg_half2 kg_make_half2(kg_half a, kg_half b) { return kg_half2{a, b}; }
__device__ __forceinline__ kg_half2 kg_make_half2(float a, float b) { return kg_half2{kg_half(a), kg_half(b)}; }
__device__ __forceinline__ kg_half2 kg_hadd2(kg_half2 a, kg_half2 b) { return a + b; }
__device__ __forceinline__ kg_half2 kg_hmul2(kg_half2 a, kg_half2 b) { return a * b; }
__device__ __forceinline__ kg_half2 kg_hfma2(kg_half2 a, kg_half2 b, kg_half2 c) { return __builtin_elementwise_fma(a, b, c); }
__device__ __forceinline__ float kg_dot2(kg_half2 a, kg_half2 b, float c) {
#if KG_DOT2
  return __builtin_amdgcn_fdot2(a, b, c, false);
#else
  return kg_fma(float(a.y), float(b.y), kg_fma(float(a.x), float(b.x), c));
#endif
}

template <int BYTES> struct kg_copy_unit {
  typedef uint32_t type __attribute__((ext_vector_type(BYTES / 4)));
};
template <> struct kg_copy_unit<4> { typedef uint32_t type; };

// From global to shared memory, through registers: done when it returns, so commit and wait are empty.
template <int BYTES> __device__ __forceinline__ void kg_copy(void *shared, const void *global) {
  static_assert(BYTES == 4 || BYTES == 8 || BYTES == 16, "copies move 4, 8 or 16 bytes");
  typedef typename kg_copy_unit<BYTES>::type unit;
  *static_cast<unit *>(shared) = *static_cast<const unit *>(global);
}
__device__ __forceinline__ void kg_copy_commit() {}
template <int GROUPS> __device__ __forceinline__ void kg_copy_wait() {}
