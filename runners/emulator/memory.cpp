// The emulator's own memory: stacks of the fibers, dynamic shared memory, and the poison every block starts with.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime.h"

#pragma GCC visibility push(hidden)
extern "C" char* kg_emu_dynamic_shared;

namespace {

constexpr size_t STACK = 256 << 10;
constexpr size_t RED_ZONE = 256;
char* stack_of[MAX_THREADS];
int stacks_made;
char* dynamic_memory;
size_t dynamic_capacity;

// Stack tops are staggered, or the frames of all threads would compete for the same cache sets.
char* stack_top(int index) { return stack_of[index] + STACK - size_t(index % 61) * 192; }

// Mapped one by one as blocks need them, since one process may hold many code objects under one limit of address space.
bool make_stack(int index) {
    if (stack_of[index]) return true;
    void* made = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return false;
    stack_of[index] = static_cast<char*>(made);
    return mprotect(made, 4096, PROT_NONE) == 0;
}

}  // namespace

bool make_threads(int count) {
    if (!block.threads) block.threads = static_cast<Thread*>(calloc(MAX_THREADS, sizeof(Thread)));
    if (!block.threads) return false;
    for (; stacks_made < count; ++stacks_made) {
        if (!make_stack(stacks_made)) return false;
        fiber_start(&block.threads[stacks_made].fiber, stack_of[stacks_made] + 4096, stack_top(stacks_made), thread_main);
    }
    return true;
}

bool make_dynamic_shared(size_t bytes) {
    if (!dynamic_memory || bytes > dynamic_capacity) {
        free(dynamic_memory);
        dynamic_memory = static_cast<char*>(aligned_alloc(256, ((bytes + 255) & ~size_t(255)) + 2 * RED_ZONE));
        dynamic_capacity = bytes;
    }
    kg_emu_dynamic_shared = dynamic_memory ? dynamic_memory + RED_ZONE : nullptr;
    return dynamic_memory != nullptr;
}

// All ones is a NaN in f32, f16 and bf16: what a block reads before it wrote cannot pass for a number.
void poison_shared(const LaunchRequest* request) {
    for (uint32_t i = 0; i < request->shared_count; ++i)
        memset(reinterpret_cast<void*>(request->shared[i].begin), 0xff, request->shared[i].size);
    memset(kg_emu_dynamic_shared, 0xff, request->dynamic_shared);
}

bool on_stack(int thread, uint64_t address) { return address - reinterpret_cast<uint64_t>(stack_of[thread]) < STACK; }

void forget_threads() { stacks_made = 0; }
#pragma GCC visibility pop
