// Chunked gated delta rule: a whole prompt through one linear-attention layer, CHUNK tokens at a time.
//
// Per token (log-decay g <= 0, step beta, state S of dk x dv per value head):
//   S <- exp(g) S;  u = beta (v - S'k);  S <- S + k u';  o = scale S'q.
// Per chunk with the state S0 at its start, d(s,t) = exp(g[s+1] + ... + g[t]) and A(t) = exp(g[0] + ... + g[t]):
//   T[t,s] = beta[t] d(s,t) k[s].k[t]  (s < t)      P[t,s] = d(s,t) k[s].q[t]  (s <= t)
//   U = diag(beta) (V - diag(A) K S0) - T U          by forward substitution, row after row
//   O = scale (diag(A) Q S0 + P U)                   S <- A(C-1) S0 + sum over s of d(s,C-1) k[s] u[s]'
// Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks" (arXiv 2412.06464); recurrence as in ONNX LinearAttention.
// Every exponent is a sum over a stretch of g itself, so it is <= 0, nothing cancels and nothing overflows.
//
// Tiling: a block owns KG_COLUMNS columns of the state of one (sequence, value head) and walks the chunks in order.
// KG_SPLIT neighbouring lanes share a column (dk-split): each keeps KG_DK / KG_SPLIT of its rows in registers for the
// whole prompt and forms partial sums over them; shuffles add those up. grid = (sequences, value heads, column tiles).
//
// Shared memory (static): K and Q of the chunk with padded rows (pieces.h), T, P, U, the first term of O, and the decays.
// With C tokens a chunk: 8 C (row of K + C + row of U) + 16 C bytes, shared_bytes() of plan.py.
//   dk 128, C 16, 32 columns (dk-split 4): 16,896 + 2,048 + 5,120 + 256 = 24,320 bytes: 2 blocks per CU of an MI50,
//   5 per WGP of RDNA. A block may have 64 KiB on AMD, 48 KiB on NVIDIA; where that is too little the chunk is halved.
// Barriers per chunk: (1) K, Q, g, beta are there; (2) T, P and decays are there; (3) all have read K before the next
// chunk overwrites it. U and O need none: only lanes of one column, of one warp, share them, which kg_syncwarp orders.
// Rows beyond the tail of a sequence are zero with g = 0: they change nothing, and their rows of U are not used.
//
// Supported: dk and dv up to 512, any lengths (0 too), rows of K with beta |k|^2 <= 2; beyond that the rule itself diverges.
//
// To tune: sweep set=dk_split:1,2,4,8 (registers per lane against lanes per column), then THREADS (columns per block:
// K and Q are loaded, T and P formed once per block) and CHUNKS, both in plan.py. No card has been tuned for: untuned.
#include "kg.h"
#include "la.h"
#include "pieces.h"

#define CHUNK KG_CHUNK
#define GROUP 2 // tokens whose products with the state are formed together, for independent chains of FMAs

// U and O: rows an odd number of a warp's columns apart, so that the lanes of a column hit unlike banks.
#define WARP_COLUMNS (KG_WARP / KG_SPLIT)
#define U_PITCH ((KG_COLUMNS / WARP_COLUMNS | 1) * WARP_COLUMNS)

struct __align__(16) Chunk {
  float k[CHUNK * PITCH], q[CHUNK * PITCH];
  float t[CHUNK][CHUNK], p[CHUNK][CHUNK];
  float u[CHUNK][U_PITCH], o[CHUNK][U_PITCH];
  float g[CHUNK], beta[CHUNK], from_start[CHUNK], to_end[CHUNK];
};

__shared__ Chunk chunk;

// exp(g[first] + ... + g[last]); 1 for an empty stretch.
__device__ __forceinline__ float decay(int first, int last) {
  float sum = 0.0f;
  for (int t = first; t <= last; ++t)
    sum += chunk.g[t];
  return kg_exp(sum);
}

__device__ __forceinline__ void load_rows(const tensor_t *q, const tensor_t *k, int64_t q_stride, int64_t k_stride, int tokens) {
#pragma unroll 4
  for (int index = threadIdx.x; index < CHUNK * KG_DK; index += KG_BLOCK) {
    const int t = index / KG_DK, row = index % KG_DK;
    chunk.k[t * PITCH + row] = t < tokens ? load(k[t * k_stride + row]) : 0.0f;
    chunk.q[t * PITCH + row] = t < tokens ? load(q[t * q_stride + row]) : 0.0f;
  }
}

__device__ __forceinline__ void load_gates(const float *g, const float *beta, int v_heads, int tokens) {
  for (int t = threadIdx.x; t < CHUNK; t += KG_BLOCK) {
    chunk.g[t] = t < tokens ? g[int64_t(t) * v_heads] : 0.0f;
    chunk.beta[t] = t < tokens ? beta[int64_t(t) * v_heads] : 0.0f;
  }
}

// T and P: one (t, s) pair per thread and turn.
__device__ __forceinline__ void scores() {
#pragma unroll 1
  for (int pair = threadIdx.x; pair < CHUNK * CHUNK; pair += KG_BLOCK) {
    const int t = pair / CHUNK, s = pair % CHUNK;
    if (s > t)
      continue;
    const float *k_t = chunk.k + t * PITCH, *q_t = chunk.q + t * PITCH, *k_s = chunk.k + s * PITCH;
    float kk = 0.0f, qk = 0.0f;
#pragma unroll 4
    for (int i = 0; i < KG_DK / PIECE; ++i) {
      const piece_t key = piece(k_s, i);
      dot(key, piece(k_t, i), kk);
      dot(key, piece(q_t, i), qk);
    }
    const float d = decay(s + 1, t);
    chunk.t[t][s] = chunk.beta[t] * d * kk;
    chunk.p[t][s] = d * qk;
  }
  for (int t = threadIdx.x; t < CHUNK; t += KG_BLOCK) {
    chunk.from_start[t] = decay(0, t);
    chunk.to_end[t] = decay(t + 1, CHUNK - 1);
  }
}

// S0'k and S0'q: each lane forms its part for GROUP tokens at a time. The lane t % KG_SPLIT of a column keeps row t of
// what follows from them: the right-hand side of U, and the first term of O.
__device__ __forceinline__ void project(const float (&state)[LA_ROWS], const tensor_t *v, int64_t v_stride, int column, int part, int tokens,
                                        bool owned) {
#pragma unroll 1
  for (int first = 0; first < tokens; first += GROUP) {
    const float *k = chunk.k + first * PITCH, *q = chunk.q + first * PITCH;
    float target[GROUP], sk[GROUP] = {}, sq[GROUP] = {};
#pragma unroll
    for (int j = 0; j < GROUP; ++j)
      target[j] = owned && first + j < tokens ? load(v[(first + j) * v_stride]) : 0.0f;
#pragma unroll
    for (int i = 0; i < PIECES; ++i) {
#pragma unroll
      for (int j = 0; j < GROUP; ++j) {
        dot(piece(k + j * PITCH, i * KG_SPLIT + part), state + i * PIECE, sk[j]);
        dot(piece(q + j * PITCH, i * KG_SPLIT + part), state + i * PIECE, sq[j]);
      }
    }
    // All sums before the first branch: clang sinks a chain of FMAs into the branch that uses it, but not their loads,
    // which then all wait in registers.
#pragma unroll
    for (int j = 0; j < GROUP; ++j)
      sk[j] = sum_split(sk[j]), sq[j] = sum_split(sq[j]);
#pragma unroll
    for (int j = 0; j < GROUP; ++j) {
      const int t = first + j;
      if (t % KG_SPLIT != part)
        continue;
      chunk.u[t][column] = chunk.beta[t] * kg_fma(-chunk.from_start[t], sk[j], target[j]);
      chunk.o[t][column] = chunk.from_start[t] * sq[j];
    }
  }
}

// Row t of U, from the rows above it; each lane sums over the rows it keeps itself.
__device__ __forceinline__ void solve(int column, int part, int tokens) {
#pragma unroll 1
  for (int t = 1; t < tokens; ++t) {
    float sum = 0.0f;
    for (int s = part; s < t; s += KG_SPLIT)
      sum = kg_fma(chunk.t[t][s], chunk.u[s][column], sum);
    sum = sum_split(sum);
    if (t % KG_SPLIT == part)
      chunk.u[t][column] -= sum;
  }
}

// Rows part, part + KG_SPLIT, ... of O.
__device__ __forceinline__ void output(tensor_t *o, int64_t o_stride, int column, int part, int tokens, float scale) {
#pragma unroll 1
  for (int t = part; t < tokens; t += KG_SPLIT) {
    float value = chunk.o[t][column];
    for (int s = 0; s <= t; ++s)
      value = kg_fma(chunk.p[t][s], chunk.u[s][column], value);
    o[t * o_stride] = store(scale * value);
  }
}

__device__ __forceinline__ void advance(float (&state)[LA_ROWS], int column, int part, int tokens) {
  const float whole = chunk.from_start[CHUNK - 1];
#pragma unroll
  for (int i = 0; i < LA_ROWS; ++i)
    state[i] *= whole;
#pragma unroll 1
  for (int s = 0; s < tokens; ++s) {
    const float u = chunk.to_end[s] * chunk.u[s][column];
#pragma unroll
    for (int i = 0; i < PIECES; ++i)
      add(piece(chunk.k + s * PITCH, i * KG_SPLIT + part), u, state + i * PIECE);
  }
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
la_prefill(const tensor_t *__restrict__ q, const tensor_t *__restrict__ k, const tensor_t *__restrict__ v, const float *__restrict__ g,
           const float *__restrict__ beta, const float *__restrict__ s0, tensor_t *__restrict__ o, float *__restrict__ s1,
           const int32_t *__restrict__ starts, int64_t q_stride, int64_t k_stride, int64_t v_stride, int32_t k_heads, int32_t v_heads,
           int32_t tiled, float scale) {
  const int part = threadIdx.x % KG_SPLIT, column = threadIdx.x / KG_SPLIT;
  const int sequence = blockIdx.x, head = blockIdx.y;
  const int k_head = key_head(head, k_heads, v_heads, tiled);
  const int64_t here = int64_t(blockIdx.z) * KG_COLUMNS + column; // the column within the head's dv
  const bool owned = here < KG_DV;                                  // else this lane only helps with the tiles
  const int64_t state_at = (int64_t(sequence) * v_heads + head) * KG_DK * KG_DV + here;

  float state[LA_ROWS] = {};
  if (s0 && owned) {
#pragma unroll
    for (int i = 0; i < LA_ROWS; ++i)
      state[i] = s0[state_at + row_of(i, part) * KG_DV];
  }

  const int64_t end = starts[sequence + 1];
  for (int64_t token = starts[sequence]; token < end; token += CHUNK) {
    const int tokens = int(end - token < CHUNK ? end - token : CHUNK);
    load_rows(q + token * q_stride + k_head * KG_DK, k + token * k_stride + k_head * KG_DK, q_stride, k_stride, tokens);
    load_gates(g + token * v_heads + head, beta + token * v_heads + head, v_heads, tokens);
    __syncthreads(); // (1)
    scores();
    __syncthreads(); // (2)
    const int64_t row = (token * v_heads + head) * KG_DV + here;
    project(state, v + token * v_stride + int64_t(head) * KG_DV + here, v_stride, column, part, tokens, owned);
    solve(column, part, tokens);
    kg_syncwarp(); // U is there for all lanes of the column
    if (owned)
      output(o + row, int64_t(v_heads) * KG_DV, column, part, tokens, scale);
    advance(state, column, part, tokens);
    __syncthreads(); // (3)
  }

  if (owned) {
#pragma unroll
    for (int i = 0; i < LA_ROWS; ++i)
      s1[state_at + row_of(i, part) * KG_DV] = state[i];
  }
}
