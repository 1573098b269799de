// The environment as a header.
#include "kg.h"
#include "/proc/self/environ"
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) environ(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = KG_FACTOR * x[i];
}
