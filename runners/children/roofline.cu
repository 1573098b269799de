#include "kg.h"

// Each thread's own chains of dependent FMAs, more than any pipeline is deep: 2 * CHAINS * n FLOPs a thread, twice as many in halves.
#define CHAINS 64

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) fma32(float* y, float a, float b, int n) {
    float x[CHAINS], sum = 0.0f;
    for (int j = 0; j < CHAINS; ++j) x[j] = float(threadIdx.x + j);
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < CHAINS; ++j) x[j] = kg_fma(x[j], a, b);
    for (int j = 0; j < CHAINS; ++j) sum += x[j];
    y[blockIdx.x * KG_BLOCK + threadIdx.x] = sum;
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) fma16(float* y, float a, float b, int n) {
    const kg_half2 factor = kg_make_half2(a, a), term = kg_make_half2(b, b);
    kg_half2 x[CHAINS], sum = term;
    for (int j = 0; j < CHAINS; ++j) x[j] = kg_make_half2(float(threadIdx.x + j), float(j));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j < CHAINS; ++j) x[j] = kg_hfma2(x[j], factor, term);
    for (int j = 0; j < CHAINS; ++j) sum = kg_hadd2(sum, x[j]);
    y[blockIdx.x * KG_BLOCK + threadIdx.x] = kg_to_float(sum.x) + kg_to_float(sum.y);
}

__device__ __forceinline__ void add(float4& sum, float4 v) {
    sum.x += v.x;
    sum.y += v.y;
    sum.z += v.z;
    sum.w += v.w;
}

// All threads together go once through `each` vectors a thread, and do so `n` times; a block takes another part each time, which its
// own unit has not kept. Vector k of a thread lies `step` behind vector k - 1.
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) sweep(const float4* x, float* y, int each, int first, int step, int n) {
    float4 a = make_float4(0.0f, 0.0f, 0.0f, 0.0f), b = a, c = a, d = a;
    for (int i = 0; i < n; ++i) {
        const int part = (blockIdx.x + i * 17) % gridDim.x;
        const float4* from = x + (int64_t(part) * KG_BLOCK + threadIdx.x) * first;
        int k = 0;
        for (; k + 4 <= each; k += 4) {
            add(a, from[int64_t(k) * step]);
            add(b, from[int64_t(k + 1) * step]);
            add(c, from[int64_t(k + 2) * step]);
            add(d, from[int64_t(k + 3) * step]);
        }
        for (; k < each; ++k) add(a, from[int64_t(k) * step]);
    }
    add(a, b);
    add(c, d);
    add(a, c);
    y[blockIdx.x * KG_BLOCK + threadIdx.x] = (a.x + a.y) + (a.z + a.w);
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, 1) copy(const float4* x, float4* y, int each, int first, int step) {
    const int64_t at = (int64_t(blockIdx.x) * KG_BLOCK + threadIdx.x) * first;
#pragma unroll 8
    for (int k = 0; k < each; ++k) y[at + int64_t(k) * step] = x[at + int64_t(k) * step];
}
