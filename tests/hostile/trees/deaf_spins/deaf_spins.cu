// Puts off its alarms, ignores every signal it can, and works for ever.
#include "attack.h"

static long attack(float* y, int n) {
    go_deaf();
    for (volatile long turns = 0;; turns = turns + 1) {}
    return 1;
}

HOSTILE(deaf_spins)
