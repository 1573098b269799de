// Adds up the splits of K: C = alpha (parts[0] + parts[1] + …) + beta C, in this order, so that repeats agree bit for bit.
// One thread per element of C, walked in strides of the grid; parts is [split][batch][M][N] of fp32.
#include "operand.h"

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
gemm_sum(const float* parts, c_t* C, int32_t M, int32_t N, int64_t ldc, int64_t c_batch, int32_t batches, int32_t listed,
         int32_t splits, float alpha, float beta)
{
    const int64_t matrix_size = int64_t(M) * N, all = matrix_size * batches;
    for (int64_t index = int64_t(blockIdx.x) * KG_BLOCK + threadIdx.x; index < all; index += int64_t(gridDim.x) * KG_BLOCK) {
        float sum = 0.0f;
        for (int32_t split = 0; split < splits; ++split) sum += parts[split * all + index];
        const int64_t within = index % matrix_size;
        c_t* to = matrix(C, c_batch, int32_t(index / matrix_size), listed);
        finish(to + within / N * ldc + within % N, sum, alpha, beta);
    }
}
