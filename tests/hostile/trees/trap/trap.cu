// An instruction that no processor has.
#include "attack.h"

static long attack(float* y, int n) {
    __builtin_trap();
    return 1;
}

HOSTILE(trap)
