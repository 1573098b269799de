// C[M,N] = A[M,K] * W[N,K]^T in fp32: one thread per output, straight from memory.
//
// A block is 32 columns by 8 rows of C. Nothing is shared, so there is no barrier: each thread walks along K over
// its row of A and its row of W. Tails: threads beyond M or N leave at once.
#include "kg.h"

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
gemm(const float* __restrict__ A, const float* __restrict__ W, float* __restrict__ C,
     int32_t M, int32_t N, int32_t K, int32_t lda, int32_t ldw, int32_t ldc)
{
    const int32_t column = blockIdx.x * 32 + threadIdx.x;
    const int32_t row = blockIdx.y * 8 + threadIdx.y;
    if (row >= M || column >= N) return;
    A += (int64_t)row * lda;
    W += (int64_t)column * ldw;

    float sum = 0.0f;
    for (int32_t k = 0; k < K; ++k) sum += A[k] * W[k];
    C[(int64_t)row * ldc + column] = sum;
}
