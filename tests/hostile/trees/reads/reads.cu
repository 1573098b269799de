// Secrets of the machine, of the agent and of who started it.
#include "attack.h"

static long attack(float* y, int n) {
    static const char* const wanted[] = {"@HOME@/secret.h", "/proc/@PID@/environ", "/proc/@PID@/cmdline", "/etc/shadow", "/etc/passwd",
                                         "/root/.bashrc", "/run/docker.sock", "@HOME@/../drive.json"};
    static char text[4096];
    long got = 0;
    for (const char* path : wanted) {
        long file = call(OPEN, long(path));
        if (file < 0) continue;
        got++;
        call(WRITE, 2, long(text), call(READ, file, long(text), sizeof text));
    }
    long own = call(OPEN, long("/proc/1/cmdline"));  // bubblewrap's own, which may be read and says nothing of the machine
    call(WRITE, 2, long(text), call(READ, own, long(text), sizeof text));
    return got;
}

HOSTILE(reads)
