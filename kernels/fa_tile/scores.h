// From products to probabilities: scale, softcap, mask, window, ALiBi, and the online softmax.
#pragma once
#include "tiles.h"

#define LOWEST -1.0e38f
#define LOG2_E 1.44269504f
#define MASK_NONE 0
#define MASK_BUFFER 1
#define MASK_CAUSAL 2
#define MASK_WINDOW 3 // causal, and nothing further back than `window` rows
#define CAUSAL (KG_MASK >= MASK_CAUSAL)

// Elements from one to the next that are needed once only: a table of the plan.
struct Steps {
  int64_t q_token, q_head, q_sequence, k_head, k_sequence, v_head, v_sequence, mask_sequence;
};

struct Shape {
  int64_t k_row, v_row, mask_row;
  int32_t n_q, n_kv, window, slopes;
  float scale, cap, slope;
  // The KV row that belongs to a query token: the last tokens are the ones that ask.
  __device__ __forceinline__ int position(int token) const { return n_kv - n_q + token; }
};

struct Running {
  float largest[PER_WARP], sum[PER_WARP]; // m, and this lane's part of l
  float2 value[PER_WARP][PAIRS];          // acc
};

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int mask = KG_WARP / 2; mask > 0; mask /= 2)
    value = kg_max(value, kg_shfl_xor(value, mask));
  return value;
}

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int mask = KG_WARP / 2; mask > 0; mask /= 2)
    value += kg_shfl_xor(value, mask);
  return value;
}

// ALiBi's slope of a head (Press, Smith, Lewis, arXiv 2108.12409), in log2 units: a geometric series over the first
// `slopes` heads (a power of two), the odd steps of one twice as fine for the heads beyond.
__device__ __forceinline__ float slope_of(const Shape &shape, int head) {
  const int step = head < shape.slopes ? 2 * (head + 1) : 2 * (head - shape.slopes) + 1;
  return LOG2_E * kg_exp2(-0.5f * shape.slope * float(step));
}

// What is added to a score of (token, KV row), in log2 units: 0, the mask's value, or -inf where the query may not look.
__device__ __forceinline__ float bias(const kg_half *mask, const Shape &shape, int token, int row, float slope) {
  const float hidden = kg_bits_float(0xff800000u);
  const int behind = shape.position(token) - row;
  if (row >= shape.n_kv || (CAUSAL && behind < 0) || (KG_MASK == MASK_WINDOW && behind >= shape.window))
    return hidden;
  float sum = 0.0f;
#if KG_ALIBI
  sum = -slope * float(behind < 0 ? -behind : behind);
#endif
#if KG_MASK == MASK_BUFFER
  if (token < shape.n_q)
    sum += LOG2_E * kg_to_float(mask[token * shape.mask_row + row]);
#endif
  return sum;
}

__device__ __forceinline__ float scaled(float product, const Shape &shape, float added) {
#if KG_SOFTCAP
  return kg_fma(shape.cap, kg_tanh(product * shape.scale), added);
#else
  return kg_fma(product, shape.scale, added);
#endif
}

__device__ __forceinline__ void rescale(Running &run, int j, float factor) {
  run.sum[j] *= factor;
#pragma unroll
  for (int i = 0; i < PAIRS; ++i) {
    run.value[j][i].x *= factor;
    run.value[j][i].y *= factor;
  }
}

// Scores to probabilities, written to tiles.p; what was summed before is brought to the new maximum.
__device__ __forceinline__ void soften(const Place &place, const kg_half *mask, const Shape &shape, int first_token, int first_head,
                                       int first_row, float (&score)[PER_LANE][PER_WARP], Running &run) {
#pragma unroll
  for (int j = 0; j < PER_WARP; ++j) {
    const int token = first_token + (place.column + j) / KG_HEADS;
    const float slope = KG_ALIBI ? slope_of(shape, first_head + (place.column + j) % KG_HEADS) : 0.0f;
    float largest = run.largest[j];
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i) {
      score[i][j] = scaled(score[i][j], shape, bias(mask, shape, token, first_row + place.row(i), slope));
      largest = kg_max(largest, score[i][j]);
    }
    largest = warp_max(largest);
    rescale(run, j, kg_exp2(run.largest[j] - largest));
    run.largest[j] = largest;
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i) {
      const float p = kg_exp2(score[i][j] - largest);
      run.sum[j] += p;
      tiles.p[place.column + j][place.row(i)] = as_tile(p);
    }
  }
}

// An attention sink: a score per head that takes its share of the denominator and has no value.
__device__ __forceinline__ void add_sink(Running &run, int j, float score) {
  const float largest = kg_max(run.largest[j], score);
  rescale(run, j, kg_exp2(run.largest[j] - largest));
  run.largest[j] = largest;
  run.sum[j] += kg_exp2(score - largest);
}
