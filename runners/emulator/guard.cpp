// Around a launch: floating-point mode, and an end to kernels that spin for ever on what no other thread can give them.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "runtime.h"

#pragma GCC visibility push(hidden)
extern "C" uint32_t kg_emu_block_index[3];

namespace {

constexpr int TICK_SECONDS = 1, PATIENCE_TICKS = 5;  // of processor time without any thread waiting or ending
sigjmp_buf outside;
LaunchRequest* guarded_request;
pthread_t launching;
uint64_t seen_switches;
int idle_ticks;

uint64_t interrupted_at(void* context) {
#if defined(__x86_64__)
    return uint64_t(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return static_cast<ucontext_t*>(context)->uc_mcontext.pc;
#else
    return 0;
#endif
}

void tick(int, siginfo_t*, void* context) {
    if (!pthread_equal(pthread_self(), launching)) {  // the process's timer may interrupt any of its threads
        pthread_kill(launching, SIGPROF);
        return;
    }
    idle_ticks = block.switches == seen_switches ? idle_ticks + 1 : 0;
    seen_switches = block.switches;
    if (idle_ticks < PATIENCE_TICKS) return;
    running->wait = Wait::RUNNING;
    running->site = last_access ? last_access : interrupted_at(context) + 1;  // readers of sites expect a return address
    report_waiting(guarded_request);
    siglongjmp(outside, 1);
}

// The floating-point mode of a launch; the old one comes back afterwards.
struct FlushToZero {
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr();
    ~FlushToZero() { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
    uint64_t before;
    FlushToZero() { asm volatile("mrs %0, fpcr" : "=r"(before)); }
    ~FlushToZero() { asm volatile("msr fpcr, %0" ::"r"(before)); }
#endif
};

Status run_or_leave(LaunchRequest* request, Status (*run)(LaunchRequest*)) {
    if (sigsetjmp(outside, 1)) return Status::STUCK;
    return run(request);
}

}  // namespace

// Denormals are flushed and read as zero, as the GPU builds have it.
void flush_denormals() {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040u);
#elif defined(__aarch64__)
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    asm volatile("msr fpcr, %0" ::"r"(mode | (1ull << 24)));
#endif
}

void report_waiting(LaunchRequest* request) {
    memcpy(request->block_index, kg_emu_block_index, sizeof request->block_index);
    for (int i = 0; i < block.size; ++i) {
        const Thread& thread = block.threads[i];
        if (thread.wait == Wait::EXITED || thread.wait == Wait::NONE) continue;
        int g = 0;
        while (g < request->group_count && (request->groups[g].site != thread.site || request->groups[g].wait != int(thread.wait))) ++g;
        if (g == 8) continue;
        if (g == request->group_count) request->groups[request->group_count++] = WaitingGroup{thread.site, int(thread.wait), 0, i, 0};
        ++request->groups[g].threads;
    }
}

Status guarded(LaunchRequest* request, Status (*run)(LaunchRequest*)) {
    struct sigaction mine = {}, before;
    itimerval every = {{TICK_SECONDS, 0}, {TICK_SECONDS, 0}}, never = {};
    mine.sa_sigaction = tick;
    mine.sa_flags = SA_SIGINFO | SA_RESTART;
    guarded_request = request;
    launching = pthread_self();
    idle_ticks = 0;
    sigaction(SIGPROF, &mine, &before);
    setitimer(ITIMER_PROF, &every, nullptr);
    FlushToZero mode;
    flush_denormals();
    Status status = run_or_leave(request, run);
    setitimer(ITIMER_PROF, &never, nullptr);
    sigaction(SIGPROF, &before, nullptr);
    return status;
}
#pragma GCC visibility pop
