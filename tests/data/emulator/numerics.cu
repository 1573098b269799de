// What the hardware's rounding and flushing decide.
#include "kg.h"

extern "C" __global__ void denormals(const float* tiny, const float* small, const float* large, float* out) {
    __shared__ float kept[64];
    const int i = threadIdx.x;
    out[i] = tiny[i] * large[i];
    out[64 + i] = small[i] * small[i] * large[i];
    kept[i] = tiny[i];
    __syncthreads();
    out[128 + i] = kept[63 - i] * large[i];
    out[192 + i] = kg_shfl_xor(small[i], 1) * small[i] * large[i];
}

__device__ kg_half add(kg_half a, kg_half b) { return kg_hadd2(kg_make_half2(a, a), kg_make_half2(b, b)).x; }
__device__ kg_half times(kg_half a, kg_half b) { return kg_hmul2(kg_make_half2(a, a), kg_make_half2(b, b)).x; }

extern "C" __global__ void half_overflow(const kg_half* a, kg_half* out) {
    const kg_half minus = kg_to_half(-1.0f), big = times(a[1], a[1]);
    out[0] = times(a[0], a[0]);
    out[1] = big;
    out[2] = add(add(big, big), times(minus, big));
    out[3] = kg_hfma2(kg_make_half2(minus, minus), kg_make_half2(big, big), kg_make_half2(kg_to_half(0.0f), kg_to_half(0.0f))).x;
}

extern "C" __global__ void contracted(const float* x, float* out) {
    out[0] = x[0] * x[1] + x[2];
#if defined(__FMA__) || defined(__aarch64__)
    out[1] = 1.0f;
#else
    out[1] = 0.0f;
#endif
}
