// Rows of K and Q in shared memory, read in pieces of four floats where dk allows: a quarter of the reads for the same FMAs.
//
// A lane's rows of the state are pieces part, part + KG_SPLIT, ... so that the lanes of a column read neighbouring pieces.
// Padding: with a row pitch that is a multiple of the 32 banks all lanes of scores(), which walk down a column, would hit
// one bank. A 16-byte read is served eight lanes at a time; rows four banks apart let eight neighbours hit all 32 banks.
// Single floats need an odd pitch instead.
#pragma once

#if KG_DK % (4 * KG_SPLIT) == 0
#define PIECE 4
#define PITCH (KG_DK + 4)
typedef float4 piece_t;
__device__ __forceinline__ void dot(const float4 &row, const float *other, float &sum) {
  sum = kg_fma(row.w, other[3], kg_fma(row.z, other[2], kg_fma(row.y, other[1], kg_fma(row.x, other[0], sum))));
}
__device__ __forceinline__ void dot(const float4 &row, const float4 &other, float &sum) {
  sum = kg_fma(row.w, other.w, kg_fma(row.z, other.z, kg_fma(row.y, other.y, kg_fma(row.x, other.x, sum))));
}
__device__ __forceinline__ void add(const float4 &row, float weight, float *to) {
  to[0] = kg_fma(row.x, weight, to[0]);
  to[1] = kg_fma(row.y, weight, to[1]);
  to[2] = kg_fma(row.z, weight, to[2]);
  to[3] = kg_fma(row.w, weight, to[3]);
}
#else
#define PIECE 1
#define PITCH (KG_DK | 1)
typedef float piece_t;
__device__ __forceinline__ void dot(float row, const float *other, float &sum) { sum = kg_fma(row, other[0], sum); }
__device__ __forceinline__ void dot(float row, float other, float &sum) { sum = kg_fma(row, other, sum); }
__device__ __forceinline__ void add(float row, float weight, float *to) { to[0] = kg_fma(row, weight, to[0]); }
#endif
#define PIECES (LA_ROWS / PIECE)

__device__ __forceinline__ piece_t piece(const float *row, int index) { return reinterpret_cast<const piece_t *>(row)[index]; }

// Row of the state that a lane keeps at place i.
__device__ __forceinline__ int row_of(int i, int part) { return (i / PIECE * KG_SPLIT + part) * PIECE + i % PIECE; }
