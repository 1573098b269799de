// A header that is a pipe, which nobody writes to.
#include "kg.h"
#include "pipe.h"
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) fifo(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = KG_FACTOR * x[i];
}
