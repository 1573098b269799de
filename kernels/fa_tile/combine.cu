// Adds up the KV splits of fa_tile: O = sum_s w_s parts[s] / sum_s w_s l_s, where w_s = 2^(m_s - the largest m).
//
// Tiling: a block owns one query (a row of O), its threads own columns and walk them in strides of the block. m and l of
// the query's splits are read by all threads at one address. No shared memory, no barrier. A split that saw nothing has
// l = 0 and the lowest m: it weighs nothing, and a query of such splits only gets zeros.
// parts is [split][query][dv], stats [split][query][m, l], both as fa_tile.cu left them; grid = queries.
#include "kg.h"

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
fa_combine(const float *__restrict__ parts, const float *__restrict__ stats, float *__restrict__ o, int32_t dv, int32_t splits) {
  const int64_t query = blockIdx.x, queries = gridDim.x;
  float largest = stats[2 * query], sum = 0.0f;
#pragma unroll 1
  for (int split = 1; split < splits; ++split)
    largest = kg_max(largest, stats[2 * (split * queries + query)]);
#pragma unroll 1
  for (int split = 0; split < splits; ++split) {
    const float *stat = stats + 2 * (split * queries + query);
    sum = kg_fma(stat[1], kg_exp2(stat[0] - largest), sum);
  }
  for (int at = threadIdx.x; at < dv; at += KG_BLOCK) {
    float value = 0.0f;
#pragma unroll 1
    for (int split = 0; split < splits; ++split) {
      const int64_t from = split * queries + query;
      value = kg_fma(parts[from * dv + at], kg_exp2(stats[2 * from] - largest), value);
    }
    o[query * dv + at] = sum > 0.0f ? value / sum : 0.0f;
  }
}
