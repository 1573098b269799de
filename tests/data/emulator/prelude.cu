// The prelude's functions over arrays, for comparison with NumPy.
#if SOFTWARE_HALF
#undef __F16C__
#endif
#include "kg.h"

extern "C" __global__ void math(const float* in, float* out, int n) {
    for (int i = 0; i < n; ++i) {
        float x = in[i];
        out[0 * n + i] = kg_exp2(x);
        out[1 * n + i] = kg_exp(x);
        out[2 * n + i] = kg_log2(x);
        out[3 * n + i] = kg_log(x);
        out[4 * n + i] = kg_tanh(x);
        out[5 * n + i] = kg_sqrt(x);
        out[6 * n + i] = kg_rsqrt(x);
        out[7 * n + i] = kg_max(x, 1.0f);
        out[8 * n + i] = kg_min(x, 1.0f);
    }
}

extern "C" __global__ void to_half(const float* in, kg_half* half, kg_bf16* brain, int n) {
    for (int i = 0; i < n; ++i) {
        half[i] = kg_to_half(in[i]);
        brain[i] = kg_to_bf16(in[i]);
    }
}

extern "C" __global__ void to_float(const kg_half* half, const kg_bf16* brain, float* out, int n) {
    for (int i = 0; i < n; ++i) {
        out[i] = kg_to_float(half[i]);
        out[n + i] = kg_to_float(brain[i]);
    }
}

extern "C" __global__ void pairs(const kg_half2* a, const kg_half2* b, const kg_half2* c, kg_half2* out, float* dots, int n) {
    for (int i = 0; i < n; ++i) {
        out[i] = kg_hadd2(a[i], b[i]);
        out[n + i] = kg_hmul2(a[i], b[i]);
        out[2 * n + i] = kg_hfma2(a[i], b[i], c[i]);
        dots[i] = kg_dot2(a[i], b[i], 0.25f);
    }
}
