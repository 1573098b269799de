// Runs a grid on one CPU thread: blocks one after another, one fiber per thread, switched at barriers and shuffles.
#include "runtime.h"

#include <stdlib.h>
#include <string.h>

Block block;
Thread* running;

extern "C" {
#pragma GCC visibility push(hidden)
const uint32_t* kg_emu_now;
uint32_t kg_emu_block_index[3], kg_emu_block_size[3], kg_emu_grid_size[3];
char* kg_emu_dynamic_shared;
#pragma GCC visibility pop
}

namespace {

constexpr uint64_t MOST_SHUFFLED = 1 << 24;

uint64_t next_random(uint64_t* state) {
    *state += 0x9e3779b97f4a7c15ull;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

void resume_next(Thread* from_thread) {
    Fiber* from = from_thread ? &from_thread->fiber : &block.outside;
    if (block.ready == 0) {
        if (block.live) block.status = Status::DEADLOCK;
        if (from_thread) fiber_switch(from, &block.outside);
        return;
    }
    Thread* next = &block.threads[block.ready_list[block.ready_head]];
    block.ready_head = (block.ready_head + 1) % MAX_THREADS;
    --block.ready;
    ++block.switches;
    running = next;
    kg_emu_now = next->index;
    if (next != from_thread) fiber_switch(from, &next->fiber);
}

void make_ready(int index) {
    block.ready_list[(block.ready_head + block.ready) % MAX_THREADS] = uint16_t(index);
    ++block.ready;
    block.threads[index].wait = Wait::NONE;
}

void release_barrier() {
    watch_barrier();
    for (int i = 0; i < block.waiting; ++i) make_ready(block.waiting_list[i]);
    block.waiting = 0;
    ++block.epoch;
}

void release_warp(int index) {
    Warp& warp = block.warps[index];
    watch_warp(index);
    for (uint32_t lanes = warp.arrived; lanes; lanes &= lanes - 1) {
        int lane = __builtin_ctz(lanes);
        warp.values[lane] = block.threads[index * WARP + lane].value;
        make_ready(index * WARP + lane);
    }
    warp.active = warp.arrived;
    warp.arrived = 0;
    if (warp.ordering) ++block.warp_epoch[index];
    warp.ordering = false;
}

void leave(Thread* me) {
    Warp& warp = block.warps[me->linear / WARP];
    me->wait = Wait::EXITED;
    --block.live;
    warp.live &= ~(1u << (me->linear % WARP));
    if (warp.arrived && warp.arrived == warp.live) release_warp(me->linear / WARP);
    if (block.live && block.waiting == block.live) release_barrier();
}

void set_up_threads(const LaunchRequest* request) {
    block.size = int(request->block[0] * request->block[1] * request->block[2]);
    for (int i = 0; i < block.size; ++i) {
        Thread& thread = block.threads[i];
        thread.linear = uint16_t(i);
        thread.index[0] = uint32_t(i) % request->block[0];
        thread.index[1] = uint32_t(i) / request->block[0] % request->block[1];
        thread.index[2] = uint32_t(i) / request->block[0] / request->block[1];
    }
}

enum class Order { FORWARD, BACKWARD, SHUFFLED };

void draw_order(uint16_t* order, int count, Order how, uint64_t* random) {
    for (int i = 0; i < count; ++i) order[i] = uint16_t(how == Order::BACKWARD ? count - 1 - i : i);
    for (int i = count - 1; how == Order::SHUFFLED && i > 0; --i) {
        uint64_t j = next_random(random) % uint64_t(i + 1);
        uint16_t kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

// The order in which a block's threads first run: waves and the lanes of each forwards, backwards or shuffled, drawn
// anew for every block, so that a race has more than one outcome to show. Forwards for seed 0.
void make_all_ready(const LaunchRequest* request, uint64_t random) {
    static uint16_t in_waves[MAX_THREADS], in_lanes[MAX_THREADS];
    int wave = int(request->wave), waves = (block.size + wave - 1) / wave;
    draw_order(in_waves, waves, request->seed ? Order(random % 3) : Order::FORWARD, &random);
    draw_order(in_lanes, wave, request->seed ? Order(random / 3 % 3) : Order::FORWARD, &random);
    for (int w = 0; w < waves; ++w)
        for (int i = 0; i < wave; ++i)
            if (int thread = in_waves[w] * wave + in_lanes[i]; thread < block.size) make_ready(thread);
}

void start_block(const LaunchRequest* request, uint64_t random) {
    block.live = block.size;
    block.waiting = block.ready = block.ready_head = 0;
    ++block.epoch;
    memset(block.warp_epoch, 0, sizeof block.warp_epoch);
    for (int w = 0; w * WARP < block.size; ++w) {
        int lanes = block.size - w * WARP;
        block.warps[w].live = lanes >= WARP ? ~0u : (1u << lanes) - 1;
        block.warps[w].arrived = 0;
        block.warps[w].ordering = false;
    }
    make_all_ready(request, random);
    copies_reset(block.size);
}

void run_block(LaunchRequest* request, uint64_t linear, uint64_t random) {
    kg_emu_block_index[0] = uint32_t(linear % request->grid[0]);
    kg_emu_block_index[1] = uint32_t(linear / request->grid[0] % request->grid[1]);
    kg_emu_block_index[2] = uint32_t(linear / request->grid[0] / request->grid[1]);
    poison_shared(request);
    start_block(request, random);
    watch_block_begin();
    resume_next(nullptr);
    watch_block_end();
}

// Blocks in an order drawn from the seed; in grid order for seed 0, and for grids that no one waits to the end of.
Status run_grid(LaunchRequest* request) {
    uint64_t count = uint64_t(request->grid[0]) * request->grid[1] * request->grid[2], random = request->seed;
    bool shuffled = request->seed && count <= MOST_SHUFFLED;
    uint32_t* order = shuffled ? static_cast<uint32_t*>(malloc(count * sizeof(uint32_t))) : nullptr;
    if (shuffled && !order) return Status::NO_MEMORY;
    for (uint64_t i = 0; order && i < count; ++i) {
        uint64_t j = next_random(&random) % (i + 1);
        order[i] = order[j];
        order[j] = uint32_t(i);
    }
    block.status = Status::DONE;
    for (uint64_t i = 0; i < count && block.status == Status::DONE; ++i) run_block(request, order ? order[i] : i, next_random(&random));
    free(order);
    return block.status;
}

}  // namespace

#pragma GCC visibility push(hidden)
// A fiber outlives its block: after the kernel returns it parks, and the next block resumes it here.
void thread_main() {
    flush_denormals();  // a portable context brings its own floating-point mode
    for (;;) {
        call_kernel(block.request);
        Thread* me = running;
        leave(me);
        resume_next(me);
    }
}
#pragma GCC visibility pop

extern "C" __attribute__((visibility("default"))) int32_t kg_emu_launch(LaunchRequest* request) {
    if (!make_threads(int(request->block[0] * request->block[1] * request->block[2])) || !make_dynamic_shared(request->dynamic_shared))
        return int(Status::NO_MEMORY);
    block.request = request;
    memcpy(kg_emu_block_size, request->block, sizeof kg_emu_block_size);
    memcpy(kg_emu_grid_size, request->grid, sizeof kg_emu_grid_size);
    pack_arguments(request);
    set_up_threads(request);
    if (!watch_launch(request)) return int(Status::NO_MEMORY);
    Status status = guarded(request, run_grid);
    if (status == Status::DEADLOCK) report_waiting(request);
    if (status != Status::DONE) forget_threads();  // the waiting fibers hold half-run kernels: all start anew
    return int(status);
}

// Where the library was loaded, for offsets of shared variables and lines.
extern "C" __attribute__((visibility("default"))) void kg_emu_anchor() {}

extern "C" __attribute__((visibility("hidden"))) void kg_emu_barrier() {
    Thread* me = running;
    me->site = return_site(__builtin_return_address(0));
    if (block.waiting + 1 == block.live) {
        if (block.waiting) watch_meeting(me->site, block.threads[block.waiting_list[0]].site);
        release_barrier();
        make_ready(me->linear);
    } else {
        block.waiting_list[block.waiting++] = me->linear;
        me->wait = Wait::BARRIER;
    }
    resume_next(me);
}

// Deposit `value`; on return every live lane of the warp has done so, and warp.values holds them.
static void meet_warp(Thread* me, uint32_t value, uint64_t site) {
    int index = me->linear / WARP;
    Warp& warp = block.warps[index];
    me->value = value;
    me->site = site;
    if (warp.arrived) watch_meeting(site, block.threads[index * WARP + __builtin_ctz(warp.arrived)].site);
    warp.arrived |= 1u << (me->linear % WARP);
    me->wait = Wait::WARP;
    if (warp.arrived == warp.live) release_warp(index);
    resume_next(me);
}

extern "C" __attribute__((visibility("hidden"))) void kg_emu_warp_barrier() {
    Thread* me = running;
    block.warps[me->linear / WARP].ordering = true;
    meet_warp(me, 0, return_site(__builtin_return_address(0)));
}

__attribute__((visibility("hidden"))) uint32_t exchange(uint32_t value, int source, uint64_t site) {
    Thread* me = running;
    meet_warp(me, value, site);
    const Warp& warp = block.warps[me->linear / WARP];
    if (warp.active >> source & 1) return warp.values[source];
    watch_inactive_lane(site);
    return ~0u;
}
