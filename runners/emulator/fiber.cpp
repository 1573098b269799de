// Fiber switching: hand-written for x86-64, ucontext elsewhere (or with KG_EMU_UCONTEXT).
#include "fiber.h"

#include <stdint.h>

#ifdef KG_EMU_PORTABLE

void fiber_start(Fiber* fiber, char* bottom, char* top, void (*entry)()) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = bottom;
    fiber->context.uc_stack.ss_size = size_t(top - bottom);
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, entry, 0);
}

void fiber_switch(Fiber* from, Fiber* to) { swapcontext(&from->context, &to->context); }

#else

// Leaves by `jmp`, not `ret`: the return-address predictor knows nothing of other stacks and would miss every time.
asm(R"(
    .text
    .globl fiber_switch
    .hidden fiber_switch
    .type fiber_switch, @function
fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size fiber_switch, .-fiber_switch
)");

void fiber_start(Fiber* fiber, char*, char* top, void (*entry)()) {
    // A function expects rsp = 8 mod 16 on entry, as a call leaves it; the zero above is its return address.
    uintptr_t* word = reinterpret_cast<uintptr_t*>(uintptr_t(top) & ~uintptr_t(15)) - 1;
    *word = 0;
    *--word = reinterpret_cast<uintptr_t>(entry);
    for (int saved = 0; saved < 6; ++saved) *--word = 0;
    fiber->stack_pointer = word;
}

#endif
