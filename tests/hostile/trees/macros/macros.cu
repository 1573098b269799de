// A macro of ten to the twelfth.
#include "kg.h"
#define M1 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 +
#define M2 M1 M1 M1 M1 M1 M1 M1 M1 M1 M1
#define M3 M2 M2 M2 M2 M2 M2 M2 M2 M2 M2
#define M4 M3 M3 M3 M3 M3 M3 M3 M3 M3 M3
#define M5 M4 M4 M4 M4 M4 M4 M4 M4 M4 M4
#define M6 M5 M5 M5 M5 M5 M5 M5 M5 M5 M5
#define M7 M6 M6 M6 M6 M6 M6 M6 M6 M6 M6
#define M8 M7 M7 M7 M7 M7 M7 M7 M7 M7 M7
#define M9 M8 M8 M8 M8 M8 M8 M8 M8 M8 M8
#define M10 M9 M9 M9 M9 M9 M9 M9 M9 M9 M9
#define M11 M10 M10 M10 M10 M10 M10 M10 M10 M10 M10
#define M12 M11 M11 M11 M11 M11 M11 M11 M11 M11 M11
static int many = M12 0;
extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) macros(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = KG_FACTOR * x[i];
}
