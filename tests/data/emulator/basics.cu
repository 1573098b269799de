// What the emulator's tests look at: indices, shuffles, poison, waits, dead-locks.
#include "kg.h"

extern "C" __global__ void indices(int32_t* out) {
    int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[block * int(blockDim.x * blockDim.y * blockDim.z) + thread] = block * 1000 + thread;
}

extern "C" __global__ void shuffles(const float* in, float* out, int width) {
    float v = in[threadIdx.x];
    int n = blockDim.x;
    out[threadIdx.x] = kg_shfl(v, 3, width);
    out[n + threadIdx.x] = kg_shfl_xor(v, 5, width);
    out[2 * n + threadIdx.x] = kg_shfl_down(v, 2, width);
    out[3 * n + threadIdx.x] = kg_shfl_up(v, 2, width);
    out[4 * n + threadIdx.x] = float(kg_shfl(int32_t(threadIdx.x), 1)) + float(kg_shfl(uint32_t(threadIdx.x), 2));
    out[5 * n + threadIdx.x] = float(kg_warp() * 100 + kg_lane());
}

extern "C" __global__ void warp_sums(const float* in, float* out) {
    float v = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (int step = 16; step; step /= 2) v += kg_shfl_xor(v, step);
    if (kg_lane() == 0) out[blockIdx.x * (blockDim.x / 32) + kg_warp()] = v;
}

extern "C" __global__ void poison(float* out, int words) {
    __shared__ float still[4];
    KG_DYNAMIC_SHARED(float, dynamic);
    for (int i = 0; i < 4; ++i) out[blockIdx.x * (4 + words) + i] = still[i];
    for (int i = 0; i < words; ++i) out[blockIdx.x * (4 + words) + 4 + i] = dynamic[i];
    for (int i = 0; i < 4; ++i) still[i] = 1.0f;
    for (int i = 0; i < words; ++i) dynamic[i] = 1.0f;
}

extern "C" __global__ void early_exit(float* out) {
    if (threadIdx.x >= 40) return;
    __syncthreads();
    out[threadIdx.x] = kg_shfl_xor(1.0f, 1);
}

extern "C" __global__ void never_meet(float* out) {
    float v = 1.0f;
    if (threadIdx.x < 16)
        v = kg_shfl_xor(v, 1);  // LINE shuffle
    __syncthreads();  // LINE barrier
    out[threadIdx.x] = v;
}

extern "C" __global__ void spin(int32_t* flag) {
    if (threadIdx.x == 0)
        while (*(volatile int32_t*)flag == 0) {  // LINE spin
        }
    __syncthreads();
}

extern "C" __global__ void late_copy(const float* in, float* out) {
    __shared__ __align__(16) float tile[4 * 32];
    for (int i = 0; i < 4; ++i) tile[4 * threadIdx.x + i] = -1.0f;
    kg_copy<8>(&tile[4 * threadIdx.x], in + 4 * threadIdx.x);
    kg_copy_commit();
    kg_copy<4>(&tile[4 * threadIdx.x + 2], in + 4 * threadIdx.x + 2);
    kg_copy_commit();
    kg_copy_wait<1>();
    for (int i = 0; i < 4; ++i) out[4 * threadIdx.x + i] = tile[4 * threadIdx.x + i];
    kg_copy_wait<0>();
    for (int i = 0; i < 4; ++i) out[128 + 4 * threadIdx.x + i] = tile[4 * threadIdx.x + i];
}

extern "C" __global__ void many_arguments(
    float* out, int32_t a, float b, int64_t c, float d, int32_t e, float f, int32_t g, float h, int32_t i, float j, float k, float l, float m,
    int32_t n, int64_t o, float p, const float* q) {
    const float values[] = {float(a), b, float(c), d, float(e), f, float(g), h, float(i), j, k, l, m, float(n), float(o), p, q[0]};
    for (int index = 0; index < 17; ++index) out[index] = values[index];
}

extern "C" __global__ void block_order(int32_t* next, int32_t* order) { order[(*next)++] = blockIdx.x; }

extern "C" __global__ void denormal(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] * 0.5f; }
