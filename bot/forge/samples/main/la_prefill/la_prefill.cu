// Chunked gated delta rule: a whole prompt through one linear-attention layer, CHUNK tokens at a time.
//
// Per token (log-decay g <= 0, step beta, state S of dk x dv per value head):
//   S <- exp(g) S;  u = beta (v - S'k);  S <- S + k u';  o = scale S'q.
// Per chunk with the state S0 at its start, d(s,t) = exp(g[s+1] + ... + g[t]) and A(t) = exp(g[0] + ... + g[t]):
//   u[t] = beta[t] (v[t] - A(t) S0'k[t] - sum over s < t of d(s,t) k[s].k[t] u[s])
//   o[t] = scale (A(t) S0'q[t] + sum over s <= t of d(s,t) k[s].q[t] u[s])
//   S <- A(C-1) S0 + sum over s of d(s,C-1) k[s] u[s]'
// Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks" (arXiv 2412.06464); recurrence as in ONNX LinearAttention.
//
// Tiling: a block owns KG_COLUMNS columns of the state of one (sequence, value head), one thread per column. A thread
// keeps its column in an array of its own. grid = (sequences, value heads, tiles).
// Shared memory: K and Q of the chunk, their products K K' and Q K'. Barriers per chunk: (1) K, Q and gates are there;
// (2) the products are there; (3) all have read them.
#include "kg.h"
#define KG_SPLIT 1
#include "la.h"

#define CHUNK KG_CHUNK

struct Chunk {
  float k[CHUNK][KG_DK], q[CHUNK][KG_DK];
  float kk[CHUNK][CHUNK], qk[CHUNK][CHUNK];
  float g[CHUNK], beta[CHUNK];
};

__shared__ Chunk chunk;

// exp(g[first] + ... + g[last]); 1 for an empty stretch.
__device__ __forceinline__ float decay(int first, int last) {
  float sum = 0.0f;
  for (int t = first; t <= last; ++t)
    sum += chunk.g[t];
  return kg_exp(sum);
}

__device__ __forceinline__ void load_chunk(const tensor_t *q, const tensor_t *k, int64_t q_stride, int64_t k_stride, const float *g,
                                           const float *beta, int v_heads, int tokens) {
  for (int index = threadIdx.x; index < CHUNK * KG_DK; index += KG_BLOCK) {
    const int t = index / KG_DK, row = index % KG_DK;
    chunk.k[t][row] = t < tokens ? load(k[t * k_stride + row]) : 0.0f;
    chunk.q[t][row] = t < tokens ? load(q[t * q_stride + row]) : 0.0f;
  }
  for (int t = threadIdx.x; t < CHUNK; t += KG_BLOCK) {
    chunk.g[t] = t < tokens ? g[int64_t(t) * v_heads] : 0.0f;
    chunk.beta[t] = t < tokens ? beta[int64_t(t) * v_heads] : 0.0f;
  }
}

// K K' and Q K': one (t, s) pair per thread and turn.
__device__ __forceinline__ void scores() {
  for (int pair = threadIdx.x; pair < CHUNK * CHUNK; pair += KG_BLOCK) {
    const int t = pair / CHUNK, s = pair % CHUNK;
    if (s > t)
      continue;
    float kk = 0.0f, qk = 0.0f;
    for (int row = 0; row < KG_DK; ++row) {
      kk = kg_fma(chunk.k[t][row], chunk.k[s][row], kk);
      qk = kg_fma(chunk.q[t][row], chunk.k[s][row], qk);
    }
    chunk.kk[t][s] = kk;
    chunk.qk[t][s] = qk;
  }
}

// What a token's K and Q make of the state at the start of the chunk.
__device__ __forceinline__ void project(const float (&state)[KG_DK], int t, float &sk, float &sq) {
  for (int row = 0; row < KG_DK; ++row) {
    sk = kg_fma(chunk.k[t][row], state[row], sk);
    sq = kg_fma(chunk.q[t][row], state[row], sq);
  }
}

__device__ __forceinline__ void advance(float (&state)[KG_DK], const float (&u)[CHUNK]) {
  const float whole = decay(0, CHUNK - 1);
  for (int row = 0; row < KG_DK; ++row)
    state[row] *= whole;
  for (int s = 0; s < CHUNK; ++s) {
    const float weight = decay(s + 1, CHUNK - 1) * u[s];
    for (int row = 0; row < KG_DK; ++row)
      state[row] = kg_fma(chunk.k[s][row], weight, state[row]);
  }
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
la_prefill(const tensor_t *__restrict__ q, const tensor_t *__restrict__ k, const tensor_t *__restrict__ v, const float *__restrict__ g,
           const float *__restrict__ beta, const float *__restrict__ s0, tensor_t *__restrict__ o, float *__restrict__ s1,
           const int32_t *__restrict__ starts, int64_t q_stride, int64_t k_stride, int64_t v_stride, int32_t k_heads, int32_t v_heads,
           int32_t tiled, float scale) {
  const int sequence = blockIdx.x, head = blockIdx.y;
  const int k_head = key_head(head, k_heads, v_heads, tiled);
  const int64_t here = int64_t(blockIdx.z) * KG_COLUMNS + threadIdx.x;
  const bool owned = here < KG_DV;
  const int64_t state_at = (int64_t(sequence) * v_heads + head) * KG_DK * KG_DV + here;

  float state[KG_DK];
  for (int row = 0; row < KG_DK; ++row)
    state[row] = s0 && owned ? s0[state_at + row * KG_DV] : 0.0f;

  const int64_t end = starts[sequence + 1];
  for (int64_t token = starts[sequence]; token < end; token += CHUNK) {
    const int tokens = int(end - token < CHUNK ? end - token : CHUNK);
    load_chunk(q + token * q_stride + k_head * KG_DK, k + token * k_stride + k_head * KG_DK, q_stride, k_stride,
               g + token * v_heads + head, beta + token * v_heads + head, v_heads, tokens);
    __syncthreads(); // (1)
    scores();
    __syncthreads(); // (2)
    float u[CHUNK] = {};
    for (int t = 0; t < tokens; ++t) {
      float sk = 0.0f, sq = 0.0f;
      project(state, t, sk, sq);
      float rest = owned ? load(v[(token + t) * v_stride + int64_t(head) * KG_DV + here]) : 0.0f;
      rest -= decay(0, t) * sk;
      float value = decay(0, t) * sq;
      for (int s = 0; s < t; ++s) {
        rest -= decay(s + 1, t) * chunk.kk[t][s] * u[s];
        value += decay(s + 1, t) * chunk.qk[t][s] * u[s];
      }
      u[t] = chunk.beta[t] * rest;
      if (owned)
        o[((token + t) * v_heads + head) * KG_DV + here] = store(scale * (value + chunk.qk[t][t] * u[t]));
    }
    advance(state, u);
    __syncthreads(); // (3)
  }

  for (int row = 0; row < KG_DK; ++row)
    if (owned)
      s1[state_at + row * KG_DV] = state[row];
}
