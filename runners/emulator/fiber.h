// One stack and one resumable point of execution; a switch costs a few nanoseconds on x86-64.
#pragma once
#include <stddef.h>
#if !defined(__x86_64__) || defined(KG_EMU_UCONTEXT)
#define KG_EMU_PORTABLE 1
#include <ucontext.h>
#endif

#pragma GCC visibility push(hidden)
struct Fiber {
#ifdef KG_EMU_PORTABLE
    ucontext_t context;
#else
    void* stack_pointer;
#endif
};

// Prepare `fiber` to call `entry` (which must never return) on the stack that ends at `top`.
void fiber_start(Fiber* fiber, char* bottom, char* top, void (*entry)());
#ifdef KG_EMU_PORTABLE
void fiber_switch(Fiber* from, Fiber* to);
#else
extern "C" void fiber_switch(Fiber* from, Fiber* to);
#endif
#pragma GCC visibility pop
