// C = alpha A W^T + beta C for few rows (M up to KG_ROWS, at most 16): as many tokens as a decoder has at once.
//
// W is read once and is nearly all the traffic, so the kernel is laid out for it: a warp owns KG_COLUMNS columns of C,
// that is rows of W, and its lanes stream along K, eight weights of each row at a time, coalesced. A's chunk of K lies
// in shared memory for all warps. A lane has KG_ROWS x KG_COLUMNS sums in registers; at the end the lanes fold them:
// half of the lanes' sums change hands at distance 16, a quarter at 8, …, and each lane ends with the totals of its own.
// Per chunk and lane: 8 KG_COLUMNS weights, 2 KG_ROWS reads of 16 bytes, 8 KG_ROWS KG_COLUMNS products.
//
// Which eight of the 256 (CHUNK): two groups of four. fp32 and fp16: 4 lane and 128 + 4 lane. Q4_0: a quarter of block
// lane / 4, so that groups lie 16 apart; the reads of A are then two to a bank.
// Shared memory (static): A's chunk, KG_ROWS x CHUNK floats, 16 KiB for 16 rows.
// Barriers. (A) the chunk of A is there; (B) all have read it.
// Tails. Columns beyond N repeat the last and are not stored; rows beyond M and k beyond K are zeros and never read.
// grid = (groups of columns of all batches, walked in strides of the grid; splits of K), as in gemm.cu.
//
// To tune: FEW_THREADS and FEW_COLUMNS in tables.py; sweep `set=columns:… set=splits:…`.
#include "operand.h"

constexpr int CHUNK = 256, WARPS = KG_BLOCK / 32;
__shared__ __align__(16) float a_tile[KG_ROWS][CHUNK];

// Where in the chunk the lane's first and second four weights lie.
__device__ __forceinline__ int first_four(int lane) { return KG_W == Q4_0 ? lane / 4 * 32 + lane % 4 * 4 : 4 * lane; }
__device__ __forceinline__ int second_four(int lane) { return first_four(lane) + (KG_W == Q4_0 ? 16 : CHUNK / 2); }

template <typename T> __device__ __forceinline__ void four(float* to, const T* row, int32_t k, int32_t end)
{
    if (KG_VECTOR == 4) return load<4>(to, row + k, k < end);
#pragma unroll
    for (int i = 0; i < 4; ++i) load<1>(to + i, row + k + i, k + i < end);
}

template <typename T> __device__ __forceinline__ void eight(float (&to)[8], const T* row, int32_t k, int32_t end, int lane)
{
    four(to, row, k + first_four(lane), end);
    four(to + 4, row, k + second_four(lane), end);
}
__device__ __forceinline__ void eight(float (&to)[8], const q4_0* row, int32_t k, int32_t end, int lane)
{
    const quarter q = load_quarter(row + k / 32 + lane / 4, lane % 4, k + lane / 4 * 32 < end);
#pragma unroll
    for (int j = 0; j < 4; ++j) to[j] = weight(q, j, false), to[4 + j] = weight(q, j, true);
}

__device__ __forceinline__ void stage(const a_t* A, int64_t lda, int32_t k, int32_t M, int32_t end)
{
    for (int index = threadIdx.x; index < KG_ROWS * CHUNK / KG_VECTOR; index += KG_BLOCK) {
        const int row = index / (CHUNK / KG_VECTOR), at = index % (CHUNK / KG_VECTOR) * KG_VECTOR;
        load<KG_VECTOR>(&a_tile[row][at], A + row * lda + k + at, row < M && k + at < end);
    }
}

__device__ __forceinline__ void multiply(float (&sum)[KG_ROWS * KG_COLUMNS], const float (&w)[8][KG_COLUMNS], int lane)
{
#pragma unroll
    for (int row = 0; row < KG_ROWS; ++row) {
        float a[8];
        load4(a, &a_tile[row][first_four(lane)]);
        load4(a + 4, &a_tile[row][second_four(lane)]);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int column = 0; column < KG_COLUMNS; ++column) sum[row * KG_COLUMNS + column] += a[i] * w[i][column];
    }
}

// Adds up over the lanes. Lane l ends with the total of the COUNT / 32 (at least one) sums from fold's result on.
template <int COUNT, int DISTANCE> __device__ __forceinline__ int fold(float* sum, int lane)
{
    if constexpr (DISTANCE == 0) {
        return 0;
    } else if constexpr (COUNT == 1) {
        sum[0] += kg_shfl_xor(sum[0], DISTANCE);
        return fold<1, DISTANCE / 2>(sum, lane);
    } else {
        const bool upper = lane & DISTANCE;
#pragma unroll
        for (int i = 0; i < COUNT / 2; ++i) {
            const float given = upper ? sum[i] : sum[i + COUNT / 2], kept = upper ? sum[i + COUNT / 2] : sum[i];
            sum[i] = kept + kg_shfl_xor(given, DISTANCE);
        }
        return (upper ? COUNT / 2 : 0) + fold<COUNT / 2, DISTANCE / 2>(sum, lane);
    }
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
gemm_few(const a_t* A, const w_t* W, c_t* C, float* parts, int32_t M, int32_t N, int32_t K, int64_t lda, int64_t ldw, int64_t ldc,
         int64_t a_batch, int64_t w_batch, int64_t c_batch, int32_t batches, int32_t listed, int32_t depth, float alpha, float beta)
{
    constexpr int SUMS = KG_ROWS * KG_COLUMNS, KEPT = SUMS > 32 ? SUMS / 32 : 1;
    const int lane = kg_lane();
    const int64_t groups = (N + WARPS * KG_COLUMNS - 1) / (WARPS * KG_COLUMNS);
    const int32_t begin = int32_t(blockIdx.y) * depth, end = K - begin < depth ? K : begin + depth;
    const Result result = {C, parts, ldc, c_batch, M, N, batches, listed, alpha, beta};

    for (int64_t item = blockIdx.x; item < groups * batches; item += gridDim.x) {
        const int32_t z = int32_t(item / groups), first = (int32_t(item % groups) * WARPS + kg_warp()) * KG_COLUMNS;
        const a_t* a = matrix(A, a_batch, z, listed);
        const w_t* w = matrix(W, w_batch, z, listed);
        float sum[SUMS] = {};
        for (int32_t k = begin; k < end; k += CHUNK) {
            float weights[8][KG_COLUMNS];
#pragma unroll
            for (int column = 0; column < KG_COLUMNS; ++column) {
                float some[8];
                eight(some, w + (first + column < N ? first + column : N - 1) * ldw, k, end, lane);
#pragma unroll
                for (int i = 0; i < 8; ++i) weights[i][column] = some[i];
            }
            stage(a, lda, k, M, end);
            __syncthreads(); // (A)
            multiply(sum, weights, lane);
            __syncthreads(); // (B)
        }
        const int at = fold<SUMS, 16>(sum, lane);
        if (SUMS < 32 && lane % (32 / SUMS) != 0) continue;
#pragma unroll
        for (int i = 0; i < KEPT; ++i)
            result.put(z, (at + i) / KG_COLUMNS, first + (at + i) % KG_COLUMNS, sum[i]);
    }
}
