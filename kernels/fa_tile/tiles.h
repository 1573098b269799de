// Types of fa_tile, its shared memory, and how rows get there. Sizes and defines are explained in fa_tile.cu.
#pragma once
#include "kg.h"

#define WARPS (KG_BLOCK / KG_WARP)
#define TOKENS (KG_COLS / KG_HEADS)                      // query tokens of a block
#define PER_WARP (KG_COLS > WARPS ? KG_COLS / WARPS : 1) // columns of a warp
#define PARTS (KG_COLS > WARPS ? 1 : WARPS / KG_COLS)    // warps of a column
#define PER_LANE (KG_ROWS / PARTS / KG_WARP)             // rows of a lane
#define HALF_DV (KG_DV / 2)                              // pairs of output columns
#define PAIRS ((HALF_DV + KG_WARP - 1) / KG_WARP)        // of them a lane's; the last may be fewer than lanes

#if KG_KV == 1
typedef kg_half kv_t;
#else
typedef float kv_t;
#endif

// 16 bytes of a shared tile, and the products formed of them.
#if KG_HALF
typedef kg_half tile_t;
typedef kg_half2 factor_t;
#define VECTOR 8
__device__ __forceinline__ tile_t as_tile(float value) { return kg_to_half(value); }
__device__ __forceinline__ tile_t as_tile(kg_half value) { return value; }
__device__ __forceinline__ float product(kg_half2 a, kg_half2 b, float sum) { return kg_dot2(a, b, sum); }
#else
typedef float tile_t;
typedef float factor_t;
#define VECTOR 4
__device__ __forceinline__ tile_t as_tile(float value) { return value; }
__device__ __forceinline__ tile_t as_tile(kg_half value) { return kg_to_float(value); }
__device__ __forceinline__ float product(float a, float b, float sum) { return kg_fma(a, b, sum); }
#endif
struct alignas(16) vector_t {
  factor_t part[4];
};
__device__ __forceinline__ float dot(const vector_t &a, const vector_t &b, float sum) {
#pragma unroll
  for (int i = 0; i < 4; ++i)
    sum = product(a.part[i], b.part[i], sum);
  return sum;
}

#define SAME_TYPE ((KG_KV == 1) == (KG_HALF == 1))

// One copy from global memory: KG_COPY_BYTES where the plan found every row aligned, else one element.
#if KG_ALIGNED
#define UNIT (KG_COPY_BYTES / int(sizeof(kv_t)))
struct alignas(KG_COPY_BYTES) unit_t {
  kv_t value[UNIT];
};
#else
#define UNIT 1
struct unit_t {
  kv_t value[1];
};
#endif

// An odd number of vectors a row: 16-byte reads down the rows then meet no bank twice.
constexpr int PITCH = (KG_STAGE / VECTOR | 1) * VECTOR;

// V rows that fit where the K columns were; at least a vector of P for every warp of a column.
template <int ROWS, bool FITS = (ROWS <= PARTS * VECTOR || ROWS * KG_DV <= KG_ROWS * PITCH)> struct Staged {
  static constexpr int rows = ROWS;
};
template <int ROWS> struct Staged<ROWS, false> : Staged<ROWS / 2> {};
constexpr int STAGED_V = Staged<KG_ROWS>::rows;
constexpr int SEGMENT = STAGED_V / PARTS; // neighbouring rows of one warp within the staged V rows

constexpr int K_ELEMENTS = KG_ROWS * PITCH, V_ELEMENTS = STAGED_V * KG_DV;
constexpr int MERGED = PARTS > 1 ? WARPS * (KG_DV + 2) * 4 / int(sizeof(tile_t)) : 0;
constexpr int K_OR_V = K_ELEMENTS > V_ELEMENTS ? K_ELEMENTS : V_ELEMENTS;
constexpr int KV_ELEMENTS = K_OR_V > MERGED ? K_OR_V : MERGED;

struct alignas(16) Tiles {
  tile_t q[KG_COLS][KG_D];
  tile_t kv[KV_ELEMENTS];
  tile_t p[KG_COLS][KG_ROWS];
};

__shared__ Tiles tiles;

static_assert(KG_COLS % WARPS == 0 || WARPS % KG_COLS == 0, "warps and columns must divide");
static_assert(KG_COLS % KG_HEADS == 0, "a block's columns must be whole tokens");
static_assert(PER_LANE >= 1 && KG_ROWS == PER_LANE * PARTS * KG_WARP, "each warp of a column needs whole warps of rows");
static_assert(SEGMENT % VECTOR == 0 && SEGMENT > 0, "a warp's V rows must fill vectors of P");
static_assert(KG_D % KG_STAGE == 0 && KG_STAGE % VECTOR == 0 && KG_DV % VECTOR == 0, "head dims must be whole stages and vectors");

// Where a lane stands: its warp's columns and rows.
struct Place {
  int lane, column, part;
  __device__ __forceinline__ int row(int i) const { // the tile row of the lane's i-th score
    const int index = i * KG_WARP + lane;
    return index / SEGMENT * STAGED_V + part * SEGMENT + index % SEGMENT;
  }
  __device__ __forceinline__ int pair(int i) const { return i * KG_WARP + lane; }
  __device__ __forceinline__ bool has(int i) const { return HALF_DV % KG_WARP == 0 || pair(i) < HALF_DV; }
};

__device__ __forceinline__ void copy_unit(tile_t *to, const kv_t *from) {
  if (SAME_TYPE && KG_ALIGNED) {
    kg_copy<KG_COPY_BYTES>(to, from);
    return;
  }
  const unit_t got = *reinterpret_cast<const unit_t *>(from);
#pragma unroll
  for (int i = 0; i < UNIT; ++i)
    to[i] = as_tile(got.value[i]);
}

// Stages `rows` rows of `WIDTH` columns into tiles.kv; rows from `known` on don't exist and become zero (never NaN * 0).
template <int WIDTH, int TO_PITCH> __device__ __forceinline__ void stage(const kv_t *from, int64_t stride, int rows, int known) {
  constexpr int units = WIDTH / UNIT;
  for (int index = threadIdx.x; index < rows * units; index += KG_BLOCK) {
    const int row = index / units, at = index % units * UNIT;
    tile_t *to = tiles.kv + row * TO_PITCH + at;
    if (row < known)
      copy_unit(to, from + row * stride + at);
    else
      for (int i = 0; i < UNIT; ++i)
        to[i] = as_tile(0.0f);
  }
  kg_copy_commit();
  kg_copy_wait<0>();
}
