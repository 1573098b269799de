// What prefill and decode share: tensor type, head mapping, and the sum over the lanes that split one column.
#pragma once

// KG_TENSOR: 0 f32, 1 f16, 2 bf16. Gates and states are always f32.
#if KG_TENSOR == 1
typedef kg_half tensor_t;
__device__ __forceinline__ float load(tensor_t value) { return kg_to_float(value); }
__device__ __forceinline__ tensor_t store(float value) { return kg_to_half(value); }
#elif KG_TENSOR == 2
typedef kg_bf16 tensor_t;
__device__ __forceinline__ float load(tensor_t value) { return kg_to_float(value); }
__device__ __forceinline__ tensor_t store(float value) { return kg_to_bf16(value); }
#else
typedef float tensor_t;
__device__ __forceinline__ float load(tensor_t value) { return value; }
__device__ __forceinline__ tensor_t store(float value) { return value; }
#endif

// The q/k head that serves a value head: grouped (neighbours share one) or tiled (every n_k-th shares one).
__device__ __forceinline__ int key_head(int value_head, int k_heads, int v_heads, int tiled) {
  return tiled ? value_head % k_heads : value_head / (v_heads / k_heads);
}

// dk-split: KG_SPLIT neighbouring lanes own one state column; lane `part` owns its rows part, part + KG_SPLIT, ... (prefill:
// pieces of them). Interleaved, the lanes of a column read neighbouring words of a K or Q row, so no two share a bank.
#define LA_ROWS (KG_DK / KG_SPLIT)

// The sum over the lanes of a column; all of them get it.
__device__ __forceinline__ float sum_split(float value) {
#pragma unroll
  for (int mask = KG_SPLIT / 2; mask > 0; mask /= 2)
    value += kg_shfl_xor(value, mask, KG_WARP);
  return value;
}
