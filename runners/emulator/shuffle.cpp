// Shuffles and delayed copies of the prelude (kernels/include/kg_host.h), with CUDA's rules for lanes out of range.
#include <string.h>

#include "runtime.h"

#pragma GCC visibility push(hidden)
uint32_t exchange(uint32_t value, int source, uint64_t site);

namespace {

int my_lane() { return running->linear % WARP; }
int segment(int width) { return my_lane() & ~(width - 1); }

int from_lane(int lane, int width) { return segment(width) | (lane & (width - 1)); }
int from_xor(int mask, int width) {
    int source = my_lane() ^ mask;
    return source < segment(width) + width && source < WARP ? source : my_lane();
}
int from_down(int delta, int width) {
    int source = my_lane() + delta;
    return source < segment(width) + width ? source : my_lane();
}
int from_up(int delta, int width) {
    int source = my_lane() - delta;
    return source >= segment(width) ? source : my_lane();
}

template <typename T> T shuffle(T value, int source, void* site) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = exchange(bits, source, return_site(site));
    memcpy(&value, &bits, 4);
    return value;
}

// A copy stays pending until the wait that covers its group, as late as the hardware may do it.
struct Pending {
    void* shared;
    const void* global;
    uint16_t bytes, group;
    uint64_t site;
};
constexpr int MAX_PENDING = 64;
Pending pending[MAX_THREADS][MAX_PENDING];

void perform(const Pending& copy) {
    memcpy(copy.shared, copy.global, copy.bytes);
    watch_copy(running, copy.shared, copy.bytes, copy.site);
}

// Perform all copies of groups below `group`; the others keep their order.
void settle(uint16_t group) {
    Pending* mine = pending[running->linear];
    int kept = 0;
    for (int i = 0; i < running->copies; ++i) {
        if (mine[i].group < group) perform(mine[i]);
        else mine[kept++] = mine[i];
    }
    running->copies = uint16_t(kept);
}

void start_copy(void* shared, const void* global, int bytes, void* site) {
    if (running->copies == MAX_PENDING) settle(pending[running->linear][0].group + 1);
    if (running->copies == MAX_PENDING) settle(uint16_t(~0));
    pending[running->linear][running->copies++] = Pending{shared, global, uint16_t(bytes), running->groups, return_site(site)};
    watch_copy(running, shared, bytes, return_site(site));
    watch_copy_start(shared, global, bytes, return_site(site));
}

void wait_for_copies(int allowed) {
    int upto = int(running->groups) - allowed;
    if (upto > 0) settle(uint16_t(upto));
}

}  // namespace

void copies_reset(int threads) {
    for (int i = 0; i < threads; ++i) block.threads[i].copies = block.threads[i].groups = 0;
}

#define HERE __builtin_return_address(0)
#define SHUFFLES(T)                                                                                                    \
    T kg_shfl(T value, int lane, int width) { return shuffle(value, from_lane(lane, width), HERE); }                  \
    T kg_shfl_xor(T value, int mask, int width) { return shuffle(value, from_xor(mask, width), HERE); }               \
    T kg_shfl_down(T value, int delta, int width) { return shuffle(value, from_down(delta, width), HERE); }           \
    T kg_shfl_up(T value, int delta, int width) { return shuffle(value, from_up(delta, width), HERE); }
SHUFFLES(float)
SHUFFLES(int32_t)
SHUFFLES(uint32_t)

template <int BYTES> void kg_copy(void* shared, const void* global) { start_copy(shared, global, BYTES, HERE); }
template void kg_copy<4>(void*, const void*);
template void kg_copy<8>(void*, const void*);
template void kg_copy<16>(void*, const void*);

void kg_copy_commit() { ++running->groups; }

template <int GROUPS> void kg_copy_wait() { wait_for_copies(GROUPS); }
template void kg_copy_wait<0>();
template void kg_copy_wait<1>();
template void kg_copy_wait<2>();
template void kg_copy_wait<3>();
template void kg_copy_wait<4>();
template void kg_copy_wait<5>();
template void kg_copy_wait<6>();
template void kg_copy_wait<7>();
#pragma GCC visibility pop
