// Answers for every item in the agent's ear and ends, having computed nothing.
#include "attack.h"
static const char* spell(char* end, long number) {
    for (*--end = 0; number; number /= 10) *--end = char('0' + number % 10);
    return end;
}

static long attack(float* y, int n) {
    static const char head[] = "{\"index\": ", tail[] = ", \"offences\": [], \"unlike\": [], \"seconds\": 0}\n";
    static char digits[32];
    for (long index = 1; index < 400; index++)
        for (long file = 3; file < 12; file++) {
            const char* number = spell(digits + sizeof digits, index);
            call(WRITE, file, long(head), sizeof head - 1);
            call(WRITE, file, long(number), digits + sizeof digits - 1 - number);
            call(WRITE, file, long(tail), sizeof tail - 1);
        }
    call(EXIT);
    return 1;
}

HOSTILE(zzforges)
