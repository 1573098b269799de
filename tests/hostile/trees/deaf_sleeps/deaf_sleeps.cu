// Puts off its alarms, ignores every signal it can, and sleeps.
#include "attack.h"

static long attack(float* y, int n) {
    go_deaf();
    long day[2] = {86400, 0};
    for (;;) call(NANOSLEEP, long(day));
    return 1;
}

HOSTILE(deaf_sleeps)
