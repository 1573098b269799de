// Flash attention without matrix units: O = softmax(bias + scale Q K') V, tile by tile over the KV rows.
//
// Online softmax (Milakov, Gimelshein, arXiv 1805.02867; Dao et al., arXiv 2205.14135). Per query column, over KV tiles:
//   m' = max(m, scores);  p = 2^(score - m');  l <- l 2^(m - m') + sum p;  acc <- acc 2^(m - m') + p V;  O = acc / l.
// Scores are in units of log2. m starts at a large negative number, not at -inf: a tile whose rows are all masked
// would otherwise compute inf - inf. A query that sees nothing ends with l = 0 and gets zeros. A softcap c makes a score
// c tanh(score / c) before anything is added; an attention sink adds 2^(sink - m) to l, in the first KV split only.
//
// Tiling: a block owns KG_COLS columns of one KV head: KG_COLS / KG_HEADS query tokens times KG_HEADS query heads that
// share it (GQA), so a K and V tile is read once for all of them. Warps of 32 lanes divide the columns; where there
// are more warps than columns, PARTS warps share a column, each with the rows of its own (and m, l, acc of its own,
// merged at the end). In Q K' a lane owns rows, in P V it owns pairs of output columns; all sums are fp32 in registers.
// grid = (query tiles x sequences x KV heads x head groups, KV splits); combine.cu adds up the splits. A split takes its
// share of the tiles that its own queries can see: neither the causal mask nor a window leaves one without work.
//
// Head dims: K has KG_D columns, V has KG_DV. Where KG_DV is no multiple of 64 the last lanes have no pair of their own.
//
// Shared memory (KG_HALF: all of it fp16, else fp32; e = 2 or 4 bytes, vectors of 16 bytes):
//   q        KG_COLS x KG_D             queries; read by all lanes of a warp at one address
//   kv       KG_ROWS x pitch            KG_STAGE columns of the K tile at a time, an odd number of vectors a row, so that
//                                       16-byte reads down the rows are free of conflicts; then STAGED_V rows of the V tile
//                                       at a time; larger where 16 / e rows of V for each warp of a column are more
//   p        KG_COLS x KG_ROWS          probabilities, from the lane that owns the row to the lanes that own columns
//   bytes = e (KG_COLS KG_D + max(KG_ROWS pitch, STAGED_V KG_DV, merging) + KG_COLS KG_ROWS); plan.py has the same sum.
// Barriers per KV tile: (A) staged K is there; (B) all have read it; (C) staged V and P are there; (D) all have read V.
//
// To tune: the rows of tables.py (threads, blocks per unit, KG_ROWS, KG_STAGE per head dim and columns).
#include "scores.h"

__device__ __forceinline__ void load_queries(const float *q, const Steps &steps, int n_q, int first_token, int first_head) {
  for (int index = threadIdx.x; index < KG_COLS * KG_D; index += KG_BLOCK) {
    const int column = index / KG_D, at = index % KG_D;
    const int token = first_token + column / KG_HEADS, head = first_head + column % KG_HEADS;
    tiles.q[column][at] = as_tile(token < n_q ? q[token * steps.q_token + head * steps.q_head + at] : 0.0f);
  }
}

// Adds the products of the staged K columns with the queries to the lane's scores.
__device__ __forceinline__ void multiply_keys(const Place &place, int first, float (&score)[PER_LANE][PER_WARP]) {
#pragma unroll 2
  for (int at = 0; at < KG_STAGE; at += VECTOR) {
    vector_t key[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; ++i)
      key[i] = *reinterpret_cast<const vector_t *>(&tiles.kv[place.row(i) * PITCH + at]);
#pragma unroll
    for (int j = 0; j < PER_WARP; ++j) {
      const vector_t query = *reinterpret_cast<const vector_t *>(&tiles.q[place.column + j][first + at]);
#pragma unroll
      for (int i = 0; i < PER_LANE; ++i)
        score[i][j] = dot(key[i], query, score[i][j]);
    }
  }
}

// Adds P V of VECTOR rows: `rows` points at the lane's pair of columns in the first of them.
__device__ __forceinline__ void add_values(float2 &sum, const vector_t &p, const tile_t *rows) {
#if KG_HALF
#pragma unroll
  for (int i = 0; i < VECTOR / 2; ++i) {
    const kg_half2 upper = *reinterpret_cast<const kg_half2 *>(rows + (2 * i) * KG_DV);
    const kg_half2 lower = *reinterpret_cast<const kg_half2 *>(rows + (2 * i + 1) * KG_DV);
    sum.x = kg_dot2(p.part[i], kg_make_half2(upper.x, lower.x), sum.x);
    sum.y = kg_dot2(p.part[i], kg_make_half2(upper.y, lower.y), sum.y);
  }
#else
#pragma unroll
  for (int i = 0; i < VECTOR; ++i) {
    const float2 value = *reinterpret_cast<const float2 *>(rows + i * KG_DV);
    sum.x = kg_fma(p.part[i], value.x, sum.x);
    sum.y = kg_fma(p.part[i], value.y, sum.y);
  }
#endif
}

// A lane without a pair of its own repeats the last one, which costs nothing and is never written.
__device__ __forceinline__ void multiply_values(const Place &place, int first, Running &run) {
#pragma unroll 1
  for (int at = 0; at < SEGMENT; at += VECTOR) {
    const int row = place.part * SEGMENT + at;
#pragma unroll
    for (int j = 0; j < PER_WARP; ++j) {
      const vector_t p = *reinterpret_cast<const vector_t *>(&tiles.p[place.column + j][first + row]);
#pragma unroll
      for (int i = 0; i < PAIRS; ++i)
        add_values(run.value[j][i], p, tiles.kv + row * KG_DV + 2 * (place.has(i) ? place.pair(i) : HALF_DV - 1));
    }
  }
}

// One KV tile, from its first row on: scores, softmax, values.
__device__ __forceinline__ void walk_tile(const Place &place, const kv_t *k, const kv_t *v, const kg_half *mask, const Shape &shape,
                                          int first_token, int first_head, int first_row, Running &run) {
  float score[PER_LANE][PER_WARP] = {};
  const int known = shape.n_kv - first_row;
  for (int at = 0; at < KG_D; at += KG_STAGE) {
    stage<KG_STAGE, PITCH>(k + first_row * shape.k_row + at, shape.k_row, KG_ROWS, known);
    __syncthreads(); // (A)
    multiply_keys(place, at, score);
    __syncthreads(); // (B)
  }
  soften(place, mask, shape, first_token, first_head, first_row, score, run);
  for (int at = 0; at < KG_ROWS; at += STAGED_V) {
    stage<KG_DV, KG_DV>(v + (first_row + at) * shape.v_row, shape.v_row, STAGED_V, known - at);
    __syncthreads(); // (C)
    multiply_values(place, at, run);
    __syncthreads(); // (D)
  }
}

// Brings the parts of a column together in the warp of part 0. tiles.kv is free: the last barrier (D) has passed.
__device__ __forceinline__ void merge_parts(const Place &place, Running &run) {
#if PARTS > 1
  float *slot = reinterpret_cast<float *>(tiles.kv) + (place.column * PARTS + place.part) * (KG_DV + 2);
  if (place.part > 0) {
    if (place.lane == 0)
      slot[0] = run.largest[0], slot[1] = run.sum[0];
    for (int i = 0; i < PAIRS; ++i)
      if (place.has(i))
        *reinterpret_cast<float2 *>(slot + 2 + 2 * place.pair(i)) = run.value[0][i];
  }
  __syncthreads();
  for (int other = 1; place.part == 0 && other < PARTS; ++other) {
    slot += KG_DV + 2;
    const float largest = kg_max(run.largest[0], slot[0]), factor = kg_exp2(slot[0] - largest);
    rescale(run, 0, kg_exp2(run.largest[0] - largest));
    run.largest[0] = largest;
    run.sum[0] = kg_fma(slot[1], factor, run.sum[0]);
    for (int i = 0; i < PAIRS; ++i) {
      const float2 value = *reinterpret_cast<const float2 *>(slot + 2 + 2 * (place.has(i) ? place.pair(i) : 0));
      run.value[0][i].x = kg_fma(value.x, factor, run.value[0][i].x);
      run.value[0][i].y = kg_fma(value.y, factor, run.value[0][i].y);
    }
  }
#endif
}

// Column j to where it belongs: the output, or with several splits their part of it, with m and l beside.
__device__ __forceinline__ void write_column(const Place &place, const Running &run, int j, int64_t query, int64_t queries, float *o,
                                             float *parts, float *stats) {
  const bool whole = gridDim.y == 1;
  const int64_t at = whole ? query : blockIdx.y * queries + query;
  const float factor = !whole ? 1.0f : run.sum[j] > 0.0f ? 1.0f / run.sum[j] : 0.0f;
#pragma unroll
  for (int i = 0; i < PAIRS; ++i) {
    const float2 value = run.value[j][i];
    if (place.has(i))
      reinterpret_cast<float2 *>((whole ? o : parts) + at * KG_DV)[place.pair(i)] = make_float2(value.x * factor, value.y * factor);
  }
  if (!whole && place.lane == 0)
    stats[2 * at] = run.largest[j], stats[2 * at + 1] = run.sum[j];
}

struct Range {
  int first, last;
};

// KV tiles that this split walks: its share of those that the block's tokens can see.
__device__ __forceinline__ Range tiles_to_walk(const Shape &shape, int first_token, int tiles_per_split) {
  int first = 0, last = shape.n_kv;
  if (CAUSAL)
    last = shape.position(first_token) + TOKENS < last ? shape.position(first_token) + TOKENS : last;
  if (KG_MASK == MASK_WINDOW)
    first = shape.position(first_token) - shape.window + 1;
  first = (first > 0 ? first : 0) / KG_ROWS + blockIdx.y * tiles_per_split;
  last = ((last > 0 ? last : 0) + KG_ROWS - 1) / KG_ROWS;
  return {first, first + tiles_per_split < last ? first + tiles_per_split : last};
}

extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT)
fa_tile(const float *__restrict__ q, const kv_t *__restrict__ k, const kv_t *__restrict__ v, const kg_half *__restrict__ mask,
        const float *__restrict__ sinks, float *__restrict__ o, float *__restrict__ parts, float *__restrict__ stats,
        const Steps *__restrict__ table, int64_t k_row, int64_t v_row, int64_t mask_row, int64_t queries, int32_t n_q, int32_t n_kv,
        int32_t kv_heads, int32_t ratio, int32_t window, int32_t slopes, int32_t query_tiles, int32_t tiles_per_split, float scale,
        float cap, float slope) {
  const Steps steps = *table;
  const Shape shape = {k_row, v_row, mask_row, n_q, n_kv, window, slopes, scale, cap, slope};
  // Under a causal mask the last query tiles have most to do: they come first.
  const int tile = blockIdx.x % query_tiles, outer = blockIdx.x / query_tiles, groups = ratio / KG_HEADS;
  const int kv_head = outer / groups % kv_heads, first_head = kv_head * ratio + outer % groups * KG_HEADS;
  const int64_t sequence = outer / groups / kv_heads;
  const int first_token = (CAUSAL ? query_tiles - 1 - tile : tile) * TOKENS;
  const int warp = threadIdx.x / KG_WARP;
  const Place place = {int(threadIdx.x % KG_WARP), warp / PARTS * PER_WARP, warp % PARTS};
  k += sequence * steps.k_sequence + kv_head * steps.k_head;
  v += sequence * steps.v_sequence + kv_head * steps.v_head;
  mask += sequence * steps.mask_sequence;

  load_queries(q + sequence * steps.q_sequence, steps, n_q, first_token, first_head);
  Running run = {};
#pragma unroll
  for (int j = 0; j < PER_WARP; ++j)
    run.largest[j] = LOWEST;

  const Range range = tiles_to_walk(shape, first_token, tiles_per_split);
  for (int at = range.first; at < range.last; ++at)
    walk_tile(place, k, v, mask, shape, first_token, first_head, at * KG_ROWS, run);

#pragma unroll
  for (int j = 0; j < PER_WARP; ++j)
    run.sum[j] = warp_sum(run.sum[j]);
  merge_parts(place, run);
#pragma unroll
  for (int j = 0; j < PER_WARP; ++j) {
    const int token = first_token + (place.column + j) / KG_HEADS, head = first_head + (place.column + j) % KG_HEADS;
    if (token >= n_q || place.part > 0)
      continue;
#if KG_SINKS
    if (blockIdx.y == 0)
      add_sink(run, j, LOG2_E * sinks[head]);
#endif
    write_column(place, run, j, (sequence * n_q + token) * kv_heads * ratio + head, queries, o, parts, stats);
  }
}
