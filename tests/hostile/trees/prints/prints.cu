// Prints a gigabyte.
#include "attack.h"

static long attack(float* y, int n) {
    static char line[1 << 16];
    for (int i = 0; i < 1 << 14; i++) call(WRITE, 1 + i % 2, long(line), sizeof line);
    return 1;
}

HOSTILE(prints)
