// What the tiles of gemm are made of: element types of A, W and C, loads of four elements, ggml's Q4_0 blocks.
//
// A Q4_0 block is 32 weights along K: an fp16 scale d, then 16 bytes; byte j holds weight j in its lower half and
// weight j + 16 in its upper half, and weight = d (nibble - 8) (ggml, block_q4_0). Eighteen bytes: only 2-byte aligned.
// A quarter of a block is four of the bytes, hence eight weights: j .. j + 3 and 16 + j .. 16 + j + 3.
#pragma once
#include "kg.h"

#define F32 0
#define F16 1
#define Q4_0 2

struct q4_0 {
    kg_half scale;
    uint16_t bytes[8];
};
struct __align__(8) half4 {
    kg_half2 low, high;
};
struct quarter {
    float scale;
    uint32_t bytes;
};

template <int KIND> struct element;
template <> struct element<F32> { typedef float type; };
template <> struct element<F16> { typedef kg_half type; };
template <> struct element<Q4_0> { typedef q4_0 type; };

typedef element<KG_A>::type a_t;
typedef element<KG_W>::type w_t;
typedef element<KG_C>::type c_t;

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(kg_half value) { return kg_to_float(value); }
__device__ __forceinline__ void assign(float& to, float value) { to = value; }
__device__ __forceinline__ void assign(kg_half& to, float value) { to = kg_to_half(value); }

// Four elements from a multiple of four on.
__device__ __forceinline__ void load4(float* to, const float* from)
{
    const float4 four = *reinterpret_cast<const float4*>(from);
    to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}
__device__ __forceinline__ void load4(float* to, const kg_half* from)
{
    const half4 four = *reinterpret_cast<const half4*>(from);
    to[0] = kg_to_float(four.low.x), to[1] = kg_to_float(four.low.y);
    to[2] = kg_to_float(four.high.x), to[3] = kg_to_float(four.high.y);
}

// COUNT (1 or 4) elements as floats, zeros unless `inside`.
template <int COUNT, typename T> __device__ __forceinline__ void load(float* to, const T* from, bool inside)
{
#pragma unroll
    for (int i = 0; i < COUNT; ++i) to[i] = 0.0f;
    if (!inside) return;
    if constexpr (COUNT == 4)
        load4(to, from);
    else
        to[0] = to_float(*from);
}

__device__ __forceinline__ quarter load_quarter(const q4_0* block, int which, bool inside)
{
    if (!inside) return quarter{0.0f, 0u};
    const uint16_t* bytes = block->bytes + 2 * which;
    return quarter{kg_to_float(block->scale), uint32_t(bytes[0]) | uint32_t(bytes[1]) << 16};
}

// Weight j (0 to 3) of the lower or the upper four.
__device__ __forceinline__ float weight(const quarter& q, int j, bool upper)
{
    return q.scale * float(int((q.bytes >> (8 * j + (upper ? 4 : 0))) & 15u) - 8);
}

// The matrix of batch `z`: from a list of addresses, or at a stride. Offsets are 64 bits wide: a batch may lie
// beyond 2^31 elements.
template <typename T> __device__ __forceinline__ T* matrix(T* base, int64_t stride, int32_t z, int32_t listed)
{
    return listed ? reinterpret_cast<T* const*>(base)[z] : base + stride * z;
}

// alpha sum + beta C into C; where beta is 0, C is not read, whatever it holds.
__device__ __forceinline__ void finish(c_t* C, float sum, float alpha, float beta)
{
    const float scaled = alpha * sum;
    assign(*C, beta == 0.0f ? scaled : kg_fma(beta, to_float(*C), scaled));
}

// Where sums go: into C, or with several splits of K (grid.y) into their part of it, `parts` being [split][batch][M][N].
struct Result {
    c_t* C;
    float* parts;
    int64_t ldc, c_batch;
    int32_t M, N, batches, listed;
    float alpha, beta;

    __device__ __forceinline__ void put(int32_t z, int32_t row, int32_t column, float sum) const
    {
        if (row >= M || column >= N) return;
        if (gridDim.y > 1)
            parts[((int64_t(blockIdx.y) * batches + z) * M + row) * N + column] = sum;
        else
            finish(matrix(C, c_batch, z, listed) + row * ldc + column, sum, alpha, beta);
    }
};
