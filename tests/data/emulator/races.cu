// Kernels with one fault each, and the same kernels without it (LOSE_BARRIERS off).
#include "kg.h"

#if LOSE_BARRIERS
#define MAYBE_BARRIER()
#else
#define MAYBE_BARRIER() __syncthreads()
#endif

template <int T> __device__ float rotate(const float* in) {
    __shared__ float part[T];
    part[threadIdx.x] = in[threadIdx.x];
    MAYBE_BARRIER();
    return part[(threadIdx.x + 1) % T];  // LINE rotate
}

extern "C" __global__ void in_template(const float* in, float* out) { out[threadIdx.x] = rotate<64>(in); }

struct Tiles {
    float first[64], second[64];
};
__shared__ Tiles tiles;

extern "C" __global__ void at_namespace_scope(const float* in, float* out) {
    tiles.second[threadIdx.x] = in[threadIdx.x];
    MAYBE_BARRIER();
    out[threadIdx.x] = tiles.second[threadIdx.x ^ 32];  // LINE namespace
}

extern "C" __global__ void second_barrier(const float* in, float* out, int rounds) {
    __shared__ float tile[64];
    float sum = 0.0f;
    for (int i = 0; i < rounds; ++i) {
        tile[threadIdx.x] = in[i * 64 + threadIdx.x];  // LINE refill
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        MAYBE_BARRIER();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void copied(const float* in, float* out) {
    __shared__ __align__(16) float tile[256];
    kg_copy<16>(&tile[threadIdx.x * 4], in + threadIdx.x * 4);
    kg_copy_commit();
    kg_copy_wait<0>();
    MAYBE_BARRIER();
    out[threadIdx.x] = tile[threadIdx.x];  // LINE copied
}

extern "C" __global__ void halves(float* out, int other) {
    __shared__ kg_half packed[64];
    packed[threadIdx.x] = kg_to_half(float(threadIdx.x));
    kg_syncwarp();
    out[threadIdx.x] = kg_to_float(packed[threadIdx.x ^ other]);  // LINE halves
}

extern "C" __global__ void in_turns(const float* in, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    kg_syncwarp();
    float other = tile[threadIdx.x ^ 1];
    kg_syncwarp();
    tile[threadIdx.x] = other;
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x ^ 33];
}

extern "C" __global__ void beyond(float* out, int step) {
    __shared__ float a[64];
    __shared__ float b[64];
    a[threadIdx.x] = 1.0f;
    b[threadIdx.x] = 2.0f;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x + step] + b[threadIdx.x];  // LINE beyond
}

extern "C" __global__ void dynamic(float* out, int count) {
    KG_DYNAMIC_SHARED(float, tile);
    tile[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = tile[(threadIdx.x + 1) % count];  // LINE dynamic
}

extern "C" __global__ void unwritten(float* out) {
    __shared__ float a[128];
    a[threadIdx.x] = 1.0f;
    __syncthreads();
    out[threadIdx.x] = a[threadIdx.x + 1];  // LINE unwritten
}

extern "C" __global__ void ended_lane(float* out) {
    if (threadIdx.x >= 48) return;
    out[threadIdx.x] = kg_shfl_xor(float(threadIdx.x), 16);  // LINE ended_lane
}

extern "C" __global__ void two_barriers(float* out) {
    if (threadIdx.x < 32) {
        out[threadIdx.x] = 1.0f;
        __syncthreads();
    } else {
        out[threadIdx.x] = 2.0f;
        __syncthreads();  // LINE two_barriers
    }
}
