// Files of 8 GiB together, without a byte in them.
#include "attack.h"

static long attack(float* y, int n) {
    static char name[] = "/out/fill.a";
    for (int i = 0; i < 8; i++, name[10]++) call(FTRUNCATE, call(OPEN, long(name), 0102, 0600), 1L << 30);
    pause_for_ever();
    return 1;
}

HOSTILE(zdisk)
