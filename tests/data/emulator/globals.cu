// Globals of a device: started as declared, kept from block to block and from launch to launch, beside shared memory.
#include "kg.h"

__device__ int ahead[40];
__shared__ int above[64];
__device__ int blocks;
static __device__ int seeds[3] = {7, 100, 9};
__device__ int between[1 << 20];

template <int N> __device__ int turned(int value) {
    __shared__ int tile[N];
    tile[threadIdx.x] = value;
    above[threadIdx.x] = value;
    __syncthreads();
    return tile[N - 1 - threadIdx.x] + above[N - 1 - threadIdx.x];
}

extern "C" __global__ void remember(int* out) {
    int last = turned<64>(int(threadIdx.x));
    if (threadIdx.x != 0) return;
    ahead[39] += 2;
    between[12345] += 1;
    between[(1 << 20) - 1] += 1;
    out[blocks] = seeds[1] + last + ahead[39] - 2 * between[12345] + between[(1 << 20) - 1] - between[12345];
    seeds[1] += 1;
    blocks += 1;
}

extern "C" __global__ void beyond(int* out, int extra) {
    above[threadIdx.x] = int(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] = above[(int(threadIdx.x) ^ 1) + extra];  // LINE beyond
}
