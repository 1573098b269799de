// Rights, places, processes and memory that a sandboxed process has not.
#include "attack.h"

static long attack(float* y, int n) {
    static const char* const places[] = {"/dev/x", "/usr/x", "/x", "/suite/x", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger"};
    long got = 0;
    for (const char* place : places) got += call(OPEN, long(place), 0101, 0600) >= 0;
    got += call(WRITE, 0, long("x"), 1) >= 0;
    long again = call(OPEN, long("/proc/self/fd/0"), 1);
    got += again >= 0 && call(WRITE, again, long("x"), 1) >= 0;
    got += call(UNSHARE, 0x10000000) == 0;
    got += call(PTRACE, 16, 1) == 0;
    call(KILL, -1, 9);
    call(KILL, 1, 9);
    got += call(KILL, @PID@, 0) == 0;
    got += call(MMAP, 0, 64L << 30, 3, 0x22, -1) > 0;
    got += call(MOUNT, long("none"), long("/tmp"), long("tmpfs")) == 0;
    return got + (call(CHROOT, long("/tmp")) == 0);
}

HOSTILE(escapes)
