// A fork bomb: as many children as there may be, none of which ends.
#include "attack.h"

static long attack(float* y, int n) {
    long made = 0;
    for (long child; made < 5000 && (child = call(FORK)) >= 0; made++)
        if (child == 0) pause_for_ever();
    return made >= 5000;
}

HOSTILE(forks)
