// Never ends, and does not even work meanwhile.
#include "attack.h"

static long attack(float* y, int n) {
    long day[2] = {86400, 0};
    for (;;) call(NANOSLEEP, long(day));
    return 1;
}

HOSTILE(sleeps)
