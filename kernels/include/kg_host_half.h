// Half and bf16 on the host: stored in 16 bits, rounded to nearest even at every operation.
#ifndef KG_HOST_HALF_H
#define KG_HOST_HALF_H

struct kg_half {
    uint16_t bits;
};
struct kg_half2 {
    kg_half x, y;
} __attribute__((aligned(4)));
struct kg_bf16 {
    uint16_t bits;
};

#if defined(__clang__) && (defined(__F16C__) || defined(__aarch64__))
static inline float kg_to_float(kg_half h) { return float(__builtin_bit_cast(_Float16, h.bits)); }
static inline kg_half kg_to_half(float f) { return kg_half{__builtin_bit_cast(uint16_t, _Float16(f))}; }
#elif defined(__F16C__)
typedef float kg_emu_float4 __attribute__((vector_size(16)));
typedef short kg_emu_short8 __attribute__((vector_size(16)));
static inline float kg_to_float(kg_half h) {
    kg_emu_short8 packed = {short(h.bits)};
    return __builtin_ia32_vcvtph2ps(packed)[0];
}
static inline kg_half kg_to_half(float f) {
    kg_emu_float4 wide = {f};
    kg_emu_short8 packed = __builtin_ia32_vcvtps2ph(wide, 0);
    return kg_half{uint16_t(packed[0])};
}
#else
static inline float kg_to_float(kg_half h) {
    uint32_t sign = uint32_t(h.bits & 0x8000u) << 16, exponent = (h.bits >> 10) & 31u, fraction = h.bits & 0x3ffu;
    if (exponent == 31) return kg_bits_float(sign | 0x7f800000u | (fraction << 13));
    if (exponent) return kg_bits_float(sign | ((exponent + 112) << 23) | (fraction << 13));
    float tiny = float(int(fraction)) * 5.9604644775390625e-8f;
    return sign ? -tiny : tiny;
}
static inline kg_half kg_to_half(float f) {
    uint32_t bits = kg_float_bits(f), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;
    if (rest > 0x7f800000u) return kg_half{uint16_t(sign | 0x7e00u)};
    if (rest >= 0x477ff000u) return kg_half{uint16_t(sign | 0x7c00u)};
    if (rest >= 0x38800000u) return kg_half{uint16_t(sign | ((rest - 0x38000000u + 0xfffu + ((rest >> 13) & 1u)) >> 13))};
    // Below the smallest normal half: adding 0.5 makes the hardware round at the right bit.
    return kg_half{uint16_t(sign | (kg_float_bits(kg_bits_float(rest) + 0.5f) - 0x3f000000u))};
}
#endif

static inline float kg_to_float(kg_bf16 b) { return kg_bits_float(uint32_t(b.bits) << 16); }
static inline kg_bf16 kg_to_bf16(float f) {
    uint32_t bits = kg_float_bits(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return kg_bf16{uint16_t((bits >> 16) | 0x40u)};
    return kg_bf16{uint16_t((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

static inline kg_half2 kg_make_half2(kg_half a, kg_half b) { return kg_half2{a, b}; }
static inline kg_half2 kg_make_half2(float a, float b) { return kg_half2{kg_to_half(a), kg_to_half(b)}; }
static inline kg_half kg_emu_hadd(kg_half a, kg_half b) { return kg_to_half(kg_to_float(a) + kg_to_float(b)); }
static inline kg_half kg_emu_hmul(kg_half a, kg_half b) { return kg_to_half(kg_to_float(a) * kg_to_float(b)); }
static inline kg_half kg_emu_hfma(kg_half a, kg_half b, kg_half c) {
    return kg_to_half(kg_fma(kg_to_float(a), kg_to_float(b), kg_to_float(c)));
}
static inline kg_half2 kg_hadd2(kg_half2 a, kg_half2 b) { return kg_half2{kg_emu_hadd(a.x, b.x), kg_emu_hadd(a.y, b.y)}; }
static inline kg_half2 kg_hmul2(kg_half2 a, kg_half2 b) { return kg_half2{kg_emu_hmul(a.x, b.x), kg_emu_hmul(a.y, b.y)}; }
static inline kg_half2 kg_hfma2(kg_half2 a, kg_half2 b, kg_half2 c) {
    return kg_half2{kg_emu_hfma(a.x, b.x, c.x), kg_emu_hfma(a.y, b.y, c.y)};
}
static inline float kg_dot2(kg_half2 a, kg_half2 b, float c) {
    return kg_fma(kg_to_float(a.y), kg_to_float(b.y), kg_fma(kg_to_float(a.x), kg_to_float(b.x), c));
}

#endif
