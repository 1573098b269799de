// Accesses whose bank conflicts and sectors are known by hand; one warp each unless said.
#include "kg.h"

#ifndef PITCH
#define PITCH 32
#endif

__shared__ float tile[32 * 33];
__shared__ __align__(16) float flat[512];

extern "C" __global__ void down_a_column(const float* in, float* out) {
    for (int i = 0; i < 32; ++i)
        tile[i * PITCH + threadIdx.x] = in[i * 32 + threadIdx.x];  // LINE row
    __syncthreads();  // LINE barrier
    float sum = 0.0f;
    for (int i = 0; i < 32; ++i)
        sum += tile[threadIdx.x * PITCH + i];  // LINE column
    for (int mask = 16; mask; mask /= 2)
        sum += kg_shfl_xor(sum, mask);  // LINE shuffle
    kg_syncwarp();  // LINE warp
    out[threadIdx.x] = sum;  // LINE out
}

// Words `stride` apart, each lane reading its own.
extern "C" __global__ void words(float* out, int stride) {
    for (int i = threadIdx.x; i < 512; i += 32)
        flat[i] = 1.0f;
    kg_syncwarp();
    out[threadIdx.x] = flat[threadIdx.x * stride % 512];  // LINE words
}

extern "C" __global__ void pairs(float* out, int stride) {
    for (int i = threadIdx.x; i < 512; i += 32)
        flat[i] = 1.0f;
    kg_syncwarp();
    const float2 two = *reinterpret_cast<const float2*>(flat + threadIdx.x * stride % 512);  // LINE pairs
    out[threadIdx.x] = two.x + two.y;
}

extern "C" __global__ void fours(float* out, int stride) {
    for (int i = threadIdx.x; i < 512; i += 32)
        flat[i] = 1.0f;
    kg_syncwarp();
    const float4 four = *reinterpret_cast<const float4*>(flat + threadIdx.x * stride % 512);  // LINE fours
    out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

// Eight lanes in a row have 128 bytes of their own; lanes 20 to 23 have the banks of 0 to 3.
extern "C" __global__ void turned(float* out, int first) {
    for (int i = threadIdx.x; i < 512; i += 32)
        flat[i] = 1.0f;
    kg_syncwarp();
    const int place = (threadIdx.x & ~7) | ((threadIdx.x + (threadIdx.x & 16 ? 4 : 0)) & 7);
    const float4 four = *reinterpret_cast<const float4*>(flat + place * 4 + first);  // LINE turned
    out[threadIdx.x] = four.x + four.y + four.z + four.w;
}

extern "C" __global__ void halves(float* out) {
    __shared__ kg_half packed[64];
    packed[threadIdx.x] = kg_to_half(1.0f);
    packed[threadIdx.x + 32] = kg_to_half(1.0f);
    kg_syncwarp();
    out[threadIdx.x] = kg_to_float(packed[threadIdx.x]);  // LINE halves
}

extern "C" __global__ void global(const float* in, float* out, int stride) {
    out[threadIdx.x] = in[threadIdx.x * stride];  // LINE global
}

extern "C" __global__ void copied(const float* in, float* out) {
    kg_copy<16>(&flat[threadIdx.x * 4], in + threadIdx.x * 4);  // LINE copied
    kg_copy_commit();
    kg_copy_wait<0>();
    kg_syncwarp();
    out[threadIdx.x] = flat[threadIdx.x];
}

// A lane in two is out of step with the others until the next barrier.
extern "C" __global__ void branches(const float* in, float* out) {
    float sum = 0.0f;
    if (threadIdx.x % 2)
        sum += in[threadIdx.x];  // LINE odd
    __syncthreads();
    sum += in[threadIdx.x + 32];  // LINE all
    out[threadIdx.x] = sum;
}

extern "C" __global__ void triangle(float* out) {
    for (int i = threadIdx.x; i < 32 * 33; i += 32)
        tile[i] = 1.0f;
    __syncthreads();
    float sum = 0.0f;
    for (int t = 0; t < 32; ++t) {
        if (int(threadIdx.x) > t)
            continue;
        sum += tile[t * 32 + 5];  // LINE across
        sum += tile[threadIdx.x * 32 + t];  // LINE down
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void lengthy(const float* in, float* out, int times) {
    float sum = 0.0f;
    for (int i = 0; i < times; ++i)
        sum += in[i % 32];  // LINE long
    out[threadIdx.x] = sum;
}

extern "C" __global__ void blocks(float* out) { out[blockIdx.x * 64 + threadIdx.x] = 1.0f; }  // LINE blocks
