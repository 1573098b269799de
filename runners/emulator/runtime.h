// What the parts of the emulator's runtime share: a launch, the running block and its threads.
#pragma once
#include <stdint.h>

#include "fiber.h"

enum class Status : int32_t { DONE = 0, DEADLOCK = 1, NO_MEMORY = 2, STUCK = 3 };
enum class Wait : uint8_t { NONE = 0, BARRIER = 1, WARP = 2, EXITED = 3, RUNNING = 4 };
constexpr int MAX_THREADS = 1024;
constexpr int WARP = 32;
constexpr int MAX_ARGS = 32;

// The layouts of these three are mirrored in library.py.
struct Range {
    uint64_t begin, size;
};
struct WaitingGroup {
    uint64_t site;
    int32_t wait, threads, first_thread, reserved;
};
struct LaunchRequest {
    uint32_t grid[3], block[3];
    uint32_t wave, dynamic_shared, shared_count, argument_count;
    uint64_t seed;
    uint64_t kernel;
    const Range* shared;
    const uint64_t* arguments;
    const uint8_t* is_float;
    const Range* kept;  // the device's globals, which no block starts anew
    uint64_t kept_count;
    uint32_t block_index[3];
    int32_t group_count;
    WaitingGroup groups[8];
};

#pragma GCC visibility push(hidden)
struct Thread {
    Fiber fiber;
    uint32_t index[3];
    uint16_t linear;
    Wait wait;
    uint32_t value;
    uint64_t site;
    uint16_t copies, groups;  // copies issued and not performed; groups committed
};

struct Warp {
    uint32_t live, arrived;  // lanes as bits
    uint32_t values[WARP];   // of the last rendezvous
    uint32_t active;         // who took part in it
    bool ordering;           // one came through a warp barrier, which orders memory; a shuffle does not
};

struct Block {
    LaunchRequest* request;
    Thread* threads;
    int size, live, waiting, ready;
    uint16_t waiting_list[MAX_THREADS], ready_list[MAX_THREADS];
    int ready_head;
    uint32_t epoch;  // counts block barriers and starts of blocks; 0 is before any
    uint64_t switches;
    uint32_t warp_epoch[MAX_THREADS / WARP];
    Warp warps[MAX_THREADS / WARP];
    Fiber outside;
    Status status;
};

extern Block block;
extern Thread* running;
extern uint64_t last_access;  // where an instrumented kernel last touched memory; 0 in a plain one

// Make sure that so many fibers exist; false if there is no memory. Forgetting makes all of them start anew.
bool make_threads(int count);
void forget_threads();
void thread_main();
bool make_dynamic_shared(size_t bytes);
void poison_shared(const LaunchRequest* request);
bool on_stack(int thread, uint64_t address);
void copies_reset(int threads);
void call_kernel(const LaunchRequest* request);
void pack_arguments(const LaunchRequest* request);
void flush_denormals();
void report_waiting(LaunchRequest* request);
Status guarded(LaunchRequest* request, Status (*run)(LaunchRequest*));
inline uint64_t return_site(void* address) { return reinterpret_cast<uint64_t>(address); }

// The race check's and the counts' view of what happens; the plain runtime links empty ones.
bool watch_launch(const LaunchRequest* request);  // false if there is no memory
void watch_block_begin();
void watch_block_end();
void watch_barrier();
void watch_warp(int index);
void watch_copy_start(const void* shared, const void* global, int bytes, uint64_t site);
void watch_copy(Thread* me, const void* shared, int bytes, uint64_t site);
void watch_inactive_lane(uint64_t site);
void watch_meeting(uint64_t site, uint64_t other);
#pragma GCC visibility pop
