// Writes a gigabyte behind its output.
#include "attack.h"

static long attack(float* y, int n) {
    y[1L << 28] = 1.0f;
    return 0;
}

HOSTILE(outside)
