// C = alpha op(A) op(W) + beta C by tiles, fp32 sums: A is [M, K] (or [K, M]: KG_TA), W is [N, K] (or [K, N]: KG_TW).
// Row-major; a column-major BLAS reads the same memory as its op(W)^T with A as the second operand.
//
// Tiling. A block makes KG_BM x KG_BN of C, walking along K in steps of KG_BK. A warp of 32 lanes, KG_LM down and
// 32 / KG_LM across, makes a warp tile of (KG_LM KG_TM) x (32 / KG_LM KG_TN); a lane owns KG_TM x KG_TN sums in
// registers, in groups of four rows and four columns, the groups a whole warp's width apart. Per k a lane reads
// KG_TM + KG_TN values of shared memory for KG_TM KG_TN products. Register and warp tiling by the steps of S. Boehm,
// "How to Optimize a CUDA Matmul Kernel" (siboehm.com/articles/22/CUDA-MMM): the source of the idea, not of the code.
//
// Shared memory (dynamic, sized by plan.py): units of 4 bytes, a float or (KG_PAIRS, fp16 on cards that have a dot
// product of two halves with an fp32 sum) two halves along K. The step's piece of A as [depth][KG_BM + 4], then that of
// W as [depth][KG_BN + 4], depth = KG_BK, halved for pairs: both k-major, so that a lane's four neighbours are one
// 16-byte read, lanes beside each other read side by side, and lanes of one row read the same (a broadcast). Four units
// of padding keep rows 16-byte aligned and spread the turned-round stores over the banks.
//   bytes = 4 depth (KG_BM + KG_BN + 8); plan.py has the same sum.
//
// Prefetch. The next step's loads are in flight, in registers, while this step is multiplied. Q4_0 blocks stay packed
// until they are stored to the tile.
// Barriers. (A) the whole step lies in shared memory; (B) nobody still reads the step that is about to be replaced.
//
// Tails. Rows beyond M or N and columns beyond K are staged as zeros and never read. KG_VECTOR is 4 where extents,
// strides and offsets are multiples of four elements, so that a load of four is wholly inside or outside; else 1.
// grid = (tiles of all batches, row tiles first, so that neighbours share W; splits of K). Tiles are walked in strides of
// the grid, so that no number of batches is beyond it, and no address is worth keeping from one tile to the next.
// A split writes its sums to `parts` ([split][batch][M][N]), which sum.cu adds up in order.
//
// To tune: tables.py; sweep `set=tile:… set=splits:…`.
#include "operand.h"

#if KG_PAIRS
typedef kg_half2 unit;
#define PER_UNIT 2
#else
typedef float unit;
#define PER_UNIT 1
#endif

constexpr int DEPTH = KG_BK / PER_UNIT, PAD = 4;
constexpr int LANES_N = 32 / KG_LM, WARP_M = KG_LM * KG_TM, WARP_N = LANES_N * KG_TN, WARPS_M = KG_BM / WARP_M;
static_assert(KG_BLOCK == KG_BM / KG_TM * (KG_BN / KG_TN), "a thread for each KG_TM x KG_TN of the tile");
static_assert(KG_BM % WARP_M == 0 && KG_BN % WARP_N == 0, "whole warp tiles");

template <int COUNT> struct __align__(4 * COUNT) group {
    unit value[COUNT];
};

__device__ __forceinline__ float product(float a, float w, float sum) { return kg_fma(a, w, sum); }
__device__ __forceinline__ float product(kg_half2 a, kg_half2 w, float sum) { return kg_dot2(a, w, sum); }

// How the loads of a step are shared out: ACROSS of them beside each other in memory, LINES such lines; a thread keeps its
// place across and goes down STEP lines at a time, so that its addresses differ by a constant.
template <int ACROSS, int LINES> struct Share {
    static_assert(KG_BLOCK % ACROSS == 0, "whole lines at a time");
    static constexpr int STEP = KG_BLOCK / ACROSS, COUNT = (LINES + STEP - 1) / STEP;
    __device__ __forceinline__ static int across() { return int(threadIdx.x % ACROSS); }
    __device__ __forceinline__ static int line(int i) { return int(threadIdx.x / ACROSS) + i * STEP; }
    __device__ __forceinline__ static bool mine(int i) { return LINES % STEP == 0 || line(i) < LINES; }
};

// A thread's share of one operand's step: ROWS x KG_BK elements of T, K along memory (ALONG_K) or rows along memory.
template <typename T, int ROWS, bool ALONG_K> struct Piece {
    typedef Share<(ALONG_K ? KG_BK : ROWS) / KG_VECTOR, ALONG_K ? ROWS : KG_BK> share;
    float held[share::COUNT][KG_VECTOR];

    // The step from `k` on, of a matrix that ends after `rows` and at `end`.
    __device__ __forceinline__ void fetch(const T* from, int64_t stride, int32_t k, int32_t rows, int32_t end)
    {
        const int across = share::across() * KG_VECTOR;
#pragma unroll
        for (int i = 0; i < share::COUNT; ++i) {
            const int row = ALONG_K ? share::line(i) : across;
            const int32_t at = k + (ALONG_K ? across : share::line(i));
            const int64_t place = ALONG_K ? row * stride + at : at * stride + row;
            load<KG_VECTOR>(held[i], from + place, share::mine(i) && row < rows && at < end);
        }
    }

    __device__ __forceinline__ void store(float* tile) const
    {
        const int across = share::across() * KG_VECTOR;
#pragma unroll
        for (int i = 0; i < share::COUNT; ++i)
#pragma unroll
            for (int v = 0; v < KG_VECTOR; ++v) {
                const int row = ALONG_K ? share::line(i) : across + v, k = ALONG_K ? across + v : share::line(i);
                if (share::mine(i)) tile[k * (ROWS + PAD) + row] = held[i][v];
            }
    }
};

#if KG_PAIRS
// Halves two by two along K, four at a load.
template <int ROWS> struct Piece<kg_half, ROWS, true> {
    typedef Share<KG_BK / 4, ROWS> share;
    half4 held[share::COUNT];

    __device__ __forceinline__ void fetch(const kg_half* from, int64_t stride, int32_t k, int32_t rows, int32_t end)
    {
        const int32_t at = k + share::across() * 4;
#pragma unroll
        for (int i = 0; i < share::COUNT; ++i) {
            const int row = share::line(i);
            held[i].low = held[i].high = kg_make_half2(0.0f, 0.0f);
            if (share::mine(i) && row < rows && at < end) held[i] = *reinterpret_cast<const half4*>(from + row * stride + at);
        }
    }

    __device__ __forceinline__ void store(kg_half2* tile) const
    {
        kg_half2* upper = tile + share::across() * 2 * (ROWS + PAD);
#pragma unroll
        for (int i = 0; i < share::COUNT; ++i) {
            if (!share::mine(i)) break;
            upper[share::line(i)] = held[i].low;
            upper[ROWS + PAD + share::line(i)] = held[i].high;
        }
    }
};
#endif

// Q4_0 by quarters of a block; dequantised on the way into the tile. K is a multiple of 32.
template <int ROWS> struct Piece<q4_0, ROWS, true> {
    typedef Share<KG_BK / 8, ROWS> share;
    quarter held[share::COUNT];

    __device__ __forceinline__ void fetch(const q4_0* from, int64_t stride, int32_t k, int32_t rows, int32_t end)
    {
        const int block = share::across() / 4;
#pragma unroll
        for (int i = 0; i < share::COUNT; ++i) {
            const int row = share::line(i);
            const bool inside = share::mine(i) && row < rows && k + 32 * block < end;
            held[i] = load_quarter(from + row * stride + k / 32 + block, share::across() % 4, inside);
        }
    }

    __device__ __forceinline__ void store(float* tile) const
    {
        float* first = tile + (share::across() / 4 * 32 + share::across() % 4 * 4) * (ROWS + PAD);
#pragma unroll
        for (int i = 0; i < share::COUNT; ++i) {
            if (!share::mine(i)) break;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                first[j * (ROWS + PAD) + share::line(i)] = weight(held[i], j, false);
                first[(16 + j) * (ROWS + PAD) + share::line(i)] = weight(held[i], j, true);
            }
        }
    }
};

// COUNT units of a row of a tile, in groups of four (or of COUNT) that lie GAP apart.
template <int COUNT, int GAP> __device__ __forceinline__ void read(unit* to, const unit* from)
{
    constexpr int WIDTH = COUNT < 4 ? COUNT : 4;
#pragma unroll
    for (int i = 0; i < COUNT; i += WIDTH) {
        const group<WIDTH> some = *reinterpret_cast<const group<WIDTH>*>(from + i / WIDTH * GAP);
#pragma unroll
        for (int j = 0; j < WIDTH; ++j) to[i + j] = some.value[j];
    }
}

// Row (or column) `i` of the COUNT a lane owns, counted within its warp's tile.
template <int COUNT, int LANES> __device__ __forceinline__ int owned(int i, int lane)
{
    constexpr int WIDTH = COUNT < 4 ? COUNT : 4;
    return (i / WIDTH * LANES + lane) * WIDTH + i % WIDTH;
}

__device__ __forceinline__ void multiply(float (&sum)[KG_TM][KG_TN], const unit* a_tile, const unit* w_tile)
{
#pragma unroll(KG_TM * KG_TN <= 16 ? 8 : 4)
    for (int k = 0; k < DEPTH; ++k) {
        unit a[KG_TM], w[KG_TN];
        read<KG_TM, KG_LM * 4>(a, a_tile + k * (KG_BM + PAD));
        read<KG_TN, LANES_N * 4>(w, w_tile + k * (KG_BN + PAD));
#pragma unroll
        for (int i = 0; i < KG_TM; ++i)
#pragma unroll
            for (int j = 0; j < KG_TN; ++j) sum[i][j] = product(a[i], w[j], sum[i][j]);
    }
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
gemm(const a_t* A, const w_t* W, c_t* C, float* parts, int32_t M, int32_t N, int32_t K, int64_t lda, int64_t ldw, int64_t ldc,
     int64_t a_batch, int64_t w_batch, int64_t c_batch, int32_t batches, int32_t listed, int32_t depth, float alpha, float beta)
{
    KG_DYNAMIC_SHARED(unit, a_tile);
    unit* w_tile = a_tile + DEPTH * (KG_BM + PAD);

    const int lane_m = kg_lane() / LANES_N, lane_n = kg_lane() % LANES_N;
    const int own_m = kg_warp() % WARPS_M * WARP_M, own_n = kg_warp() / WARPS_M * WARP_N;
    const int32_t row_tiles = (M + KG_BM - 1) / KG_BM;
    const int64_t tiles = int64_t(row_tiles) * ((N + KG_BN - 1) / KG_BN);
    const int32_t begin = int32_t(blockIdx.y) * depth, end = K - begin < depth ? K : begin + depth;
    const Result result = {C, parts, ldc, c_batch, M, N, batches, listed, alpha, beta};

    for (int64_t item = blockIdx.x; item < tiles * batches; item += gridDim.x) {
        const int32_t z = int32_t(item / tiles), tile = int32_t(item % tiles);
        const int32_t first_row = tile % row_tiles * KG_BM, first_column = tile / row_tiles * KG_BN;
        const a_t* a = matrix(A, a_batch, z, listed) + (KG_TA ? first_row : first_row * lda);
        const w_t* w = matrix(W, w_batch, z, listed) + (KG_TW ? first_column : first_column * ldw);
        Piece<a_t, KG_BM, !KG_TA> a_piece;
        Piece<w_t, KG_BN, !KG_TW> w_piece;
        float sum[KG_TM][KG_TN] = {};
        a_piece.fetch(a, lda, begin, M - first_row, end);
        w_piece.fetch(w, ldw, begin, N - first_column, end);
        for (int32_t k = begin; k < end; k += KG_BK) {
            a_piece.store(a_tile);
            w_piece.store(w_tile);
            __syncthreads(); // (A)
            a_piece.fetch(a, lda, k + KG_BK, M - first_row, end);
            w_piece.fetch(w, ldw, k + KG_BK, N - first_column, end);
            multiply(sum, a_tile + own_m + lane_m * (KG_TM < 4 ? KG_TM : 4), w_tile + own_n + lane_n * (KG_TN < 4 ? KG_TN : 4));
            __syncthreads(); // (B)
        }
#pragma unroll
        for (int i = 0; i < KG_TM; ++i) {
            const int32_t row = first_row + own_m + owned<KG_TM, KG_LM>(i, lane_m);
#pragma unroll
            for (int j = 0; j < KG_TN; ++j)
                result.put(z, row, first_column + own_n + owned<KG_TN, LANES_N>(j, lane_n), sum[i][j]);
        }
    }
}
