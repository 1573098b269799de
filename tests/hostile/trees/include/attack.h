// What every hostile kernel here shares: system calls without a library, and a kernel that is right unless attack() got through.
#pragma once
#include "kg.h"

static inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return result;
}

enum { WRITE = 1, OPEN = 2, MMAP = 9, SIGACTION = 13, PAUSE = 34, NANOSLEEP = 35, SETITIMER = 38, SOCKET = 41, CONNECT = 42, FORK = 57,
       KILL = 62, FTRUNCATE = 77, SYMLINK = 88, PTRACE = 101, SETUID = 105, SETSID = 112, PRCTL = 157, CHROOT = 161, MOUNT = 165, READ = 0, EXIT = 231, UNSHARE = 272 };

static inline void pause_for_ever() {
    for (;;) call(PAUSE);
}

static inline void go_deaf() {
    long never[4] = {}, ignored[4] = {1};
    call(PRCTL, 15, long("@MARK@"));
    for (long timer = 0; timer < 3; timer++) call(SETITIMER, timer, long(never));
    for (long signal = 1; signal <= 64; signal++) call(SIGACTION, signal, long(ignored), 0, 8);
}

// NAME(attack) is the kernel; what attack(n) returns is added to the first element.
#define HOSTILE(NAME)                                                                                                  \
    extern "C" __global__ void KG_LAUNCH_BOUNDS(KG_BLOCK, KG_BLOCKS_PER_UNIT) NAME(const float* x, float* y, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x;                                                                 \
        float through = i == 0 ? float(attack(y, n)) : 0.0f;                                                           \
        if (i < n) y[i] = KG_FACTOR * x[i] + 1000.0f * through;                                                        \
    }
