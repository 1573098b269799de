// Counts per source access. Each thread keeps a log of what it passes; when its warp meets, the logs are replayed in
// lock-step, so that lanes which went different ways come together again where a device would bring them together.
#include "counts.h"

#include <stdlib.h>
#include <string.h>

#include "runtime.h"
#include "shadow.h"

#pragma GCC visibility push(hidden)
extern "C" {
extern uint32_t kg_emu_block_index[3], kg_emu_grid_size[3];
extern char __ehdr_start[], _end[];  // of this library, by the linker
}
#pragma GCC visibility pop

namespace {

constexpr uint32_t MOST_SITES = 1024, SLOTS = 4096;
constexpr uint32_t MOST_EVENTS = 1 << 15;      // of a thread between two meetings; what comes after is not counted
constexpr uint64_t MOST_LOGGED = 6ull << 20;  // of a block, 72 MB
constexpr uint16_t PASSED = 0;                 // an event's access where it only tells the way the thread goes

struct Event {
    uint32_t place, word;  // distance from the library's start; 4-byte word of memory
    uint16_t access, size;
};
struct Log {
    Event* events;
    uint32_t used, room, at;
};
struct Site {
    Counted total;
    uint32_t size;
};

Site sites[MOST_SITES];
uint32_t site_count;
uint16_t slots[SLOTS];  // number of a site + 1
Log logs[MAX_THREADS];
uint64_t logged_room;
bool counting, complete;

uint64_t start() { return reinterpret_cast<uint64_t>(__ehdr_start); }

Site* found_or_made(uint64_t place, Access access, uint32_t size) {
    uint32_t slot = uint32_t((place * 8 + uint32_t(access)) * 0x9e3779b97f4a7c15ull >> 52);
    for (; slots[slot]; slot = (slot + 1) % SLOTS) {
        Site* site = &sites[slots[slot] - 1];
        if (site->total.site == place && site->total.access == access && site->size == size) return site;
    }
    if (site_count == MOST_SITES) return nullptr;
    sites[site_count] = Site{Counted{place, 0, 0, 0, {}, {}, access, 0}, size};
    slots[slot] = uint16_t(++site_count);
    return &sites[site_count - 1];
}

bool has_room(Log& log) {
    if (log.used < log.room) return true;
    uint32_t room = log.room ? log.room * 2 : 64;
    Event* more = logged_room + room > MOST_LOGGED ? nullptr : static_cast<Event*>(realloc(log.events, room * sizeof(Event)));
    complete &= more != nullptr;
    if (!more) return false;
    logged_room += room - log.room;
    log.events = more;
    log.room = room;
    return true;
}

void write_down(uint64_t place, uint64_t address, uint32_t access, uint32_t size) {
    Log& log = logs[running->linear];
    if (log.used == MOST_EVENTS || !has_room(log)) return;
    log.events[log.used++] = Event{uint32_t(place - start()), uint32_t(address >> 2), uint16_t(access), uint16_t(size)};
}

void raise_to(uint64_t& most, uint64_t value) { most = value > most ? value : most; }

void evaluate(const Event& event, const uint32_t* words, uint32_t lanes) {
    Site* site = found_or_made(start() + event.place, Access(event.access), event.size);
    complete &= site != nullptr;
    if (!site) return;
    Counted& total = site->total;
    ++total.times;
    if (total.access == Access::GLOBAL_LOAD || total.access == Access::GLOBAL_STORE) {
        uint32_t sectors = sectors_of(words, lanes, event.size);
        total.sectors += sectors;
        raise_to(total.worst_sectors, sectors);
        return;
    }
    for (int model = 0; model < BANK_MODELS; ++model) {
        BankCost cost = bank_cost(BankModel(model), words, lanes, event.size, total.access == Access::SHARED_STORE);
        total.lost[model] += cost.lost;
        raise_to(total.ways[model], cost.ways);
    }
}

// Of the lanes with something left, those at the lowest address go first: who left a loop or skipped a branch waits
// further down for the others.
uint64_t key_of(const Event& event) { return uint64_t(event.place) << 32 | uint64_t(event.access) << 16 | event.size; }

bool step(Log* lanes) {
    uint64_t lowest = ~0ull;
    uint32_t words[WARP], taking = 0;
    for (int i = 0; i < WARP; ++i) {
        if (lanes[i].at == lanes[i].used) continue;
        uint64_t key = key_of(lanes[i].events[lanes[i].at]);
        if (key > lowest) continue;
        if (key < lowest) taking = 0;
        lowest = key;
        taking |= 1u << i;
    }
    if (!taking) return false;
    Event first = lanes[__builtin_ctz(taking)].events[lanes[__builtin_ctz(taking)].at];
    for (uint32_t left = taking; left; left &= left - 1) {
        Log& lane = lanes[__builtin_ctz(left)];
        words[__builtin_ctz(left)] = lane.events[lane.at++].word;
    }
    if (first.access != PASSED) evaluate(first, words, taking);
    return true;
}

void settle(int warp, bool keep) {
    Log* lanes = logs + warp * WARP;
    while (keep && step(lanes)) {}
    for (int i = 0; i < WARP; ++i) lanes[i].used = lanes[i].at = 0;
}

void settle_all(bool keep) {
    for (int warp = 0; warp < MAX_THREADS / WARP; ++warp) settle(warp, keep);
}

bool of_the_kernel(uint64_t address) {
    uint64_t threads = reinterpret_cast<uint64_t>(block.threads);
    bool image = address - start() < uint64_t(_end - __ehdr_start);
    return !image && address - threads >= sizeof(Thread) * MAX_THREADS && !on_stack(running->linear, address);
}

void met(Access access, uint64_t place) {
    Site* site = found_or_made(place, access, 0);
    complete &= site != nullptr;
    if (site) ++site->total.times;
}

}  // namespace

#pragma GCC visibility push(hidden)
void counts_launch() {
    settle_all(false);
    memset(slots, 0, sizeof slots);
    site_count = 0;
    complete = true;
    counting = false;
}

// Of each launch the first, the last and two blocks between are counted, whatever order they run in.
void counts_block_begin() {
    const uint32_t *at = kg_emu_block_index, *grid = kg_emu_grid_size;
    uint64_t linear = at[0] + uint64_t(grid[0]) * (at[1] + uint64_t(grid[1]) * at[2]), blocks = uint64_t(grid[0]) * grid[1] * grid[2];
    counting = linear == 0 || linear == blocks / 3 || linear == blocks * 2 / 3 || linear == blocks - 1;
}

void counts_access(uint64_t address, uint32_t size, bool write, bool shared, uint64_t site) {
    if (!counting || (!shared && !of_the_kernel(address))) return;
    Access access = shared ? (write ? Access::SHARED_STORE : Access::SHARED_LOAD) : (write ? Access::GLOBAL_STORE : Access::GLOBAL_LOAD);
    bool whole = size <= 2 || size == 4 || size == 8 || size == 16;
    for (uint32_t at = 0, part = whole ? size : 4; at < size; at += part) write_down(site, address + at, uint32_t(access), part);
}

void watch_copy_start(const void* shared, const void* global, int bytes, uint64_t site) {
    shadow_aligned(reinterpret_cast<uint64_t>(shared) | reinterpret_cast<uint64_t>(global), uint32_t(bytes), site);
    counts_access(reinterpret_cast<uint64_t>(global), uint32_t(bytes), false, false, site);
    counts_access(reinterpret_cast<uint64_t>(shared), uint32_t(bytes), true, true, site);
}

// Called when the barrier opens: the site is that of the first live thread, whoever came last.
void watch_barrier() {
    if (!counting) return;
    const Thread* first = running->wait == Wait::EXITED ? nullptr : running;
    for (int i = 0; i < block.waiting; ++i) {
        const Thread& thread = block.threads[block.waiting_list[i]];
        if (!first || thread.linear < first->linear) first = &thread;
    }
    met(Access::BARRIER, first->site);
    settle_all(true);
}

void watch_warp(int index) {
    if (!counting) return;
    const Warp& warp = block.warps[index];
    met(warp.ordering ? Access::WARP_BARRIER : Access::SHUFFLE, block.threads[index * WARP + __builtin_ctz(warp.arrived)].site);
    settle(index, true);
}

void watch_block_end() {
    if (counting) settle_all(true);
}
#pragma GCC visibility pop

// Called at the start of every basic block: the way a thread goes.
extern "C" __attribute__((visibility("hidden"))) void __sanitizer_cov_trace_pc() {
    if (counting) write_down(reinterpret_cast<uint64_t>(__builtin_return_address(0)), 0, PASSED, 0);
}

// Hands over the last launch's counts; -1 if they are not complete.
extern "C" __attribute__((visibility("default"))) int32_t kg_emu_take_counts(Counted* into, int32_t room) {
    if (!complete || int32_t(site_count) > room) return -1;
    for (uint32_t i = 0; i < site_count; ++i) into[i] = sites[i].total;
    return int32_t(site_count);
}
