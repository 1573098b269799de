// Gated delta rule, one token per sequence: the step of token generation. Recurrence and source: see la_prefill.cu.
//
// Tiling: a block owns KG_COLUMNS columns of one (sequence, value head). KG_SPLIT neighbouring lanes share a column:
// each keeps KG_DK / KG_SPLIT of its rows in registers, so the state is read once and written once, and that traffic
// (8 dk dv bytes per head) is what the kernel costs. grid = (sequences, value heads, column tiles).
// Shared memory: the token's k and q as floats, 8 dk bytes. The one barrier makes them visible.
#include "kg.h"
#include "la.h"

__shared__ float k_row[KG_DK], q_row[KG_DK];

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
la_decode(const tensor_t *__restrict__ q, const tensor_t *__restrict__ k, const tensor_t *__restrict__ v, const float *__restrict__ g,
          const float *__restrict__ beta, const float *__restrict__ s0, tensor_t *__restrict__ o, float *__restrict__ s1,
          int64_t q_stride, int64_t k_stride, int64_t v_stride, int32_t k_heads, int32_t v_heads, int32_t tiled, float scale) {
  const int part = threadIdx.x % KG_SPLIT, column = threadIdx.x / KG_SPLIT;
  const int64_t sequence = blockIdx.x, gate = sequence * v_heads + blockIdx.y;
  const int k_head = key_head(blockIdx.y, k_heads, v_heads, tiled);
  const int64_t here = int64_t(blockIdx.z) * KG_COLUMNS + column;
  const bool owned = here < KG_DV;
  const int64_t state_at = gate * KG_DK * KG_DV + here;

  for (int row = threadIdx.x; row < KG_DK; row += KG_BLOCK) {
    k_row[row] = load(k[sequence * k_stride + k_head * KG_DK + row]);
    q_row[row] = load(q[sequence * q_stride + k_head * KG_DK + row]);
  }
  __syncthreads();

  float state[LA_ROWS] = {};
  if (s0 && owned) {
#pragma unroll
    for (int i = 0; i < LA_ROWS; ++i)
      state[i] = s0[state_at + (i * KG_SPLIT + part) * KG_DV];
  }
  const float target = owned ? load(v[sequence * v_stride + int64_t(blockIdx.y) * KG_DV + here]) : 0.0f;
  const float keep = kg_exp(g[gate]), step = beta[gate];

  float sk = 0.0f, sq = 0.0f;
#pragma unroll
  for (int i = 0; i < LA_ROWS; ++i) {
    sk = kg_fma(k_row[i * KG_SPLIT + part], state[i], sk);
  }
  const float u = step * kg_fma(-keep, sum_split(sk), target);
  kg_syncwarp(); // so that no compiler keeps the k it has read in registers beside the state
#pragma unroll
  for (int i = 0; i < LA_ROWS; ++i) {
    state[i] = kg_fma(k_row[i * KG_SPLIT + part], u, keep * state[i]);
    sq = kg_fma(q_row[i * KG_SPLIT + part], state[i], sq);
  }
  const float value = scale * sum_split(sq);
  if (!owned)
    return;
#pragma unroll
  for (int i = 0; i < LA_ROWS; ++i)
    s1[state_at + (i * KG_SPLIT + part) * KG_DV] = state[i];
  if (part == 0)
    o[gate * KG_DV + here] = store(value);
}
