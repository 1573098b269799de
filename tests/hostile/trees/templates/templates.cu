// A template that makes two of itself, 40 times.
#include "kg.h"
template <int N, int M> struct Two { enum { value = Two<N - 1, 2 * M>::value + Two<N - 1, 2 * M + 1>::value }; };
template <int M> struct Two<0, M> { enum { value = M }; };
static int many = Two<30, 1>::value;
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) templates(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = KG_FACTOR * x[i];
}
