// Forks twice, leaves its session and its name, and stays.
#include "attack.h"

static long attack(float* y, int n) {
    if (call(FORK) != 0) return 0;
    call(SETSID);
    if (call(FORK) != 0) call(EXIT);
    call(PRCTL, 15, long("@MARK@"));
    pause_for_ever();
    return 0;
}

HOSTILE(daemon)
