// Host branch of the prelude: the emulator's runtime (runners/emulator) implements what is only declared here.
//
// Barriers, shuffles and copies are real calls, so that the address they return to is the kernel's own line.
#ifndef KG_HOST_H
#define KG_HOST_H

typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;

#define __global__ __attribute__((visibility("default"), used, noinline))
#define __device__
#define __constant__ const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))
// One block runs at a time, so a block's shared memory is static storage, poisoned by the runtime before each block.
// The tag becomes part of the symbol's name, which is how the toolchain tells it from a global of the device.
#define __shared__ static __attribute__((abi_tag("kg_shared")))
#define KG_LAUNCH_BOUNDS(threads, blocks_per_unit)
#define KG_DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(kg_emu_dynamic_shared)

#ifndef KG_FAST_FP16
#define KG_FAST_FP16 0
#endif
#ifndef KG_DOT2
#define KG_DOT2 0
#endif
#ifndef KG_COPY_BYTES
#define KG_COPY_BYTES 16
#endif

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
struct float2 {
    float x, y;
} __attribute__((aligned(8)));
struct float4 {
    float x, y, z, w;
} __attribute__((aligned(16)));
struct int4 {
    int x, y, z, w;
} __attribute__((aligned(16)));
static inline float2 make_float2(float x, float y) { return float2{x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return float4{x, y, z, w}; }
static inline int4 make_int4(int x, int y, int z, int w) { return int4{x, y, z, w}; }

struct kg_emu_thread {
    uint3 index;
};
#pragma GCC visibility push(hidden)  // the runtime is linked into the same code object: no detour through its tables
extern "C" {
extern const kg_emu_thread* kg_emu_now;
extern uint3 kg_emu_block_index;
extern dim3 kg_emu_block_size;
extern dim3 kg_emu_grid_size;
extern char* kg_emu_dynamic_shared;
void kg_emu_barrier();
void kg_emu_warp_barrier();
}
#define threadIdx (kg_emu_now->index)
#define blockIdx kg_emu_block_index
#define blockDim kg_emu_block_size
#define gridDim kg_emu_grid_size
#define __syncthreads kg_emu_barrier
#define kg_syncwarp kg_emu_warp_barrier

float kg_shfl(float value, int lane, int width = 32);
float kg_shfl_xor(float value, int mask, int width = 32);
float kg_shfl_down(float value, int delta, int width = 32);
float kg_shfl_up(float value, int delta, int width = 32);
int32_t kg_shfl(int32_t value, int lane, int width = 32);
int32_t kg_shfl_xor(int32_t value, int mask, int width = 32);
int32_t kg_shfl_down(int32_t value, int delta, int width = 32);
int32_t kg_shfl_up(int32_t value, int delta, int width = 32);
uint32_t kg_shfl(uint32_t value, int lane, int width = 32);
uint32_t kg_shfl_xor(uint32_t value, int mask, int width = 32);
uint32_t kg_shfl_down(uint32_t value, int delta, int width = 32);
uint32_t kg_shfl_up(uint32_t value, int delta, int width = 32);

// The copy happens at the wait, as late as the hardware may do it.
template <int BYTES> void kg_copy(void* shared, const void* global);
void kg_copy_commit();
template <int PENDING> void kg_copy_wait();
#pragma GCC visibility pop

static inline uint32_t kg_float_bits(float value) { return __builtin_bit_cast(uint32_t, value); }
static inline float kg_bits_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
static inline float kg_sqrt(float x) { return __builtin_sqrtf(x); }
static inline float kg_max(float a, float b) { return b != b ? a : (a > b ? a : b); }
static inline float kg_min(float a, float b) { return b != b ? a : (a < b ? a : b); }
static inline float kg_fma(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return float(double(a) * double(b) + double(c));
#endif
}

#include "kg_host_half.h"

#endif
