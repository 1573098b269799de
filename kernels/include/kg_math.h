// exp2, exp, log2, log, tanh and rsqrt by one formula on every target: range reduction and a polynomial.
// Special values are told apart by their bits, so that fast-math flags cannot fold the tests away.
#ifndef KG_MATH_H
#define KG_MATH_H

__device__ __forceinline__ bool kg_math_is_nan(float x) { return (kg_float_bits(x) & 0x7fffffffu) > 0x7f800000u; }

// value * 2^n for n in -252..254: two factors, since one cannot hold the whole range.
__device__ __forceinline__ float kg_math_scale(float value, int n) {
    int half = n / 2;
    return value * kg_bits_float(uint32_t(half + 127) << 23) * kg_bits_float(uint32_t(n - half + 127) << 23);
}

__device__ __forceinline__ float kg_math_clamp(float x, float low, float high) { return kg_min(kg_max(x, low), high); }

__device__ __forceinline__ int kg_math_round(float x) { return int(x < 0.0f ? x - 0.5f : x + 0.5f); }

// e^r for |r| <= 0.35
__device__ __forceinline__ float kg_math_exp_reduced(float r) {
    float p = 1.98412698e-4f;
    p = kg_fma(p, r, 1.38888889e-3f);
    p = kg_fma(p, r, 8.33333333e-3f);
    p = kg_fma(p, r, 4.16666667e-2f);
    p = kg_fma(p, r, 1.66666667e-1f);
    p = kg_fma(p, r, 0.5f);
    return kg_fma(kg_fma(p, r, 1.0f), r, 1.0f);
}

__device__ __forceinline__ float kg_exp2(float x) {
    if (kg_math_is_nan(x)) return x;
    x = kg_math_clamp(x, -152.0f, 129.0f);
    int n = kg_math_round(x);
    float f = x - float(n);
    // ln 2 in two parts keeps the product exact enough for one rounding.
    return kg_math_scale(kg_math_exp_reduced(kg_fma(f, 0.693147182f, f * -1.90465421e-9f)), n);
}

__device__ __forceinline__ float kg_exp(float x) {
    if (kg_math_is_nan(x)) return x;
    x = kg_math_clamp(x, -105.0f, 89.5f);
    int n = kg_math_round(x * 1.44269504f);
    float r = kg_fma(float(n), -0.693145752f, x);
    r = kg_fma(float(n), -1.42860677e-6f, r);
    return kg_math_scale(kg_math_exp_reduced(r), n);
}

// log(1 + f) for 1 + f in sqrt(1/2)..sqrt(2): the series of atanh(f / (2 + f)), arranged so that f itself is added last.
__device__ __forceinline__ float kg_math_log_reduced(float f) {
    float s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
    float p = 0.181818182f;
    p = kg_fma(p, z, 0.222222222f);
    p = kg_fma(p, z, 0.285714286f);
    p = kg_fma(p, z, 0.4f);
    p = kg_fma(p, z, 0.666666667f);
    return f - (h - s * kg_fma(z, p, h));
}

// x = (1 + f) * 2^n for positive finite x
__device__ __forceinline__ float kg_math_split(float x, int* n) {
    int shift = 0;
    if (kg_float_bits(x) < 0x00800000u) {
        x *= 33554432.0f;
        shift = -25;
    }
    uint32_t bits = kg_float_bits(x) - 0x3f3504f3u;
    *n = (int(bits) >> 23) + shift;
    return kg_bits_float((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}

// NaN for negatives, -inf for zero, x for +inf and NaN: what log of an x outside the positive finite numbers is.
__device__ __forceinline__ float kg_math_log_special(float x) {
    uint32_t bits = kg_float_bits(x);
    if ((bits & 0x7fffffffu) == 0) return kg_bits_float(0xff800000u);
    if (kg_math_is_nan(x)) return x;
    return kg_bits_float(bits >> 31 ? 0x7fc00000u : 0x7f800000u);
}

__device__ __forceinline__ bool kg_math_log_ordinary(float x) {
    uint32_t bits = kg_float_bits(x);
    return bits - 1u < 0x7f7fffffu && x > 0.0f;
}

__device__ __forceinline__ float kg_log(float x) {
    if (!kg_math_log_ordinary(x)) return kg_math_log_special(x);
    int n;
    float l = kg_math_log_reduced(kg_math_split(x, &n));
    return kg_fma(float(n), 0.693145752f, kg_fma(float(n), 1.42860677e-6f, l));
}

__device__ __forceinline__ float kg_log2(float x) {
    if (!kg_math_log_ordinary(x)) return kg_math_log_special(x);
    int n;
    float l = kg_math_log_reduced(kg_math_split(x, &n));
    return float(n) + kg_fma(l, 1.44269502f, l * 1.92596303e-8f);
}

__device__ __forceinline__ float kg_tanh(float x) {
    float a = kg_bits_float(kg_float_bits(x) & 0x7fffffffu);
    if (a < 0.55f) {
        float z = x * x;
        float p = -6.19716465e-3f;
        p = kg_fma(p, z, 2.10191275e-2f);
        p = kg_fma(p, z, -5.38400526e-2f);
        p = kg_fma(p, z, 0.133324742f);
        p = kg_fma(p, z, -0.333333144f);
        return kg_fma(x * z, p, x);
    }
    float t = 1.0f - 2.0f / (kg_exp(2.0f * kg_min(a, 20.0f)) + 1.0f);
    return kg_math_is_nan(x) ? x : kg_bits_float(kg_float_bits(t) | (kg_float_bits(x) & 0x80000000u));
}

__device__ __forceinline__ float kg_rsqrt(float x) { return 1.0f / kg_sqrt(x); }

#endif
