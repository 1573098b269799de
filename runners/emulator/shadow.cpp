// The race check: for every byte of shared memory, who wrote it and who read it since the last barrier.
//
// Two accesses of which one writes race when different threads make them between the same two block barriers,
// unless both are of one warp and a warp barrier lies between. Per warp the two latest distinct readers are
// enough: whoever writes, one of them is another thread.
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "runtime.h"

extern "C" __attribute__((visibility("hidden"))) uint32_t kg_emu_block_index[3];
extern "C" __attribute__((visibility("hidden"))) char* kg_emu_dynamic_shared;

namespace {

constexpr int MAX_FINDINGS = 64;
constexpr uint64_t BEFORE = 64, AFTER = 256;  // of a region: the linker and the allocator leave at least this unused
constexpr uint16_t NOBODY = 0xffff;

struct Reader {
    uint32_t epoch, warp_epoch, site, second_site;
    uint16_t first, second;
};
struct Cell {
    uint32_t write_epoch, write_warp_epoch, write_site, read_epoch, readers, split_epoch;  // readers: warps as bits
    uint16_t writer;
    bool legal;
};
struct Region {
    uint64_t begin, size;
    Cell* cells;
    Reader* readers;
    int warps;
};

Region regions[2];
Finding findings[MAX_FINDINGS];
int finding_count;
uint32_t first_epoch;  // of the running block
uint64_t origin;
const LaunchRequest* watched;

void note(Fault fault, uint64_t site, int other_thread, uint64_t other_site, uint64_t address) {
    for (int i = 0; i < finding_count; ++i) {
        Finding& known = findings[i];
        if (known.fault == fault && known.site == site && known.other_site == other_site) {
            ++known.times;
            return;
        }
    }
    if (finding_count == MAX_FINDINGS) return;
    Finding& made = findings[finding_count++];
    made = Finding{fault, running->linear, other_thread, 1, site, other_site, address, {}, 0};
    memcpy(made.block, kg_emu_block_index, sizeof made.block);
}

bool ordered(int thread, uint32_t warp_epoch) {
    if (thread == running->linear) return true;
    int warp = running->linear / WARP;
    return thread / WARP == warp && warp_epoch < block.warp_epoch[warp];
}

void meet_writer(const Cell& cell, Fault fault, uint64_t site, uint64_t address) {
    if (cell.write_epoch == block.epoch && !ordered(cell.writer, cell.write_warp_epoch))
        note(fault, site, cell.writer, origin + cell.write_site, address);
}

void meet_readers(Region& region, uint64_t index, uint64_t site, uint64_t address) {
    Cell& cell = region.cells[index];
    if (cell.read_epoch != block.epoch) return;
    for (uint32_t warps = cell.readers; warps; warps &= warps - 1) {
        const Reader& reader = region.readers[index * region.warps + __builtin_ctz(warps)];
        if (!ordered(reader.first, reader.warp_epoch)) note(Fault::WRITE_AFTER_READ, site, reader.first, origin + reader.site, address);
        else if (reader.second != NOBODY && !ordered(reader.second, reader.warp_epoch))
            note(Fault::WRITE_AFTER_READ, site, reader.second, origin + reader.second_site, address);
    }
}

void remember_reader(Region& region, uint64_t index, uint64_t site) {
    Cell& cell = region.cells[index];
    int me = running->linear, warp = me / WARP;
    if (cell.read_epoch != block.epoch) cell.readers = 0;
    cell.read_epoch = block.epoch;
    cell.readers |= 1u << warp;
    Reader& reader = region.readers[index * region.warps + warp];
    bool fresh = reader.epoch != block.epoch || reader.warp_epoch != block.warp_epoch[warp];
    if (fresh) reader = Reader{block.epoch, block.warp_epoch[warp], uint32_t(site - origin), 0, uint16_t(me), NOBODY};
    else if (reader.first != me && reader.second == NOBODY) {
        reader.second = uint16_t(me);
        reader.second_site = uint32_t(site - origin);
    }
}

void touch(Region& region, uint64_t index, bool write, uint64_t site) {
    Cell& cell = region.cells[index];
    uint64_t address = region.begin + index;
    if (write) {
        meet_writer(cell, Fault::WRITE_WRITE, site, address);
        meet_readers(region, index, site, address);
        cell.write_epoch = block.epoch;
        cell.write_warp_epoch = block.warp_epoch[running->linear / WARP];
        cell.write_site = uint32_t(site - origin);
        cell.writer = running->linear;
        return;
    }
    if (cell.write_epoch < first_epoch) note(Fault::UNINITIALISED, site, -1, 0, address);
    meet_writer(cell, Fault::READ_AFTER_WRITE, site, address);
    remember_reader(region, index, site);
}

// Most accesses are whole words, kept in the word's first cell; a smaller one gives the word's bytes a cell each.
void split(Region& region, uint64_t word) {
    Cell first = region.cells[word];
    if (first.split_epoch >= first_epoch) return;
    first.split_epoch = block.epoch;
    for (int i = 0; i < 4; ++i) {
        bool legal = region.cells[word + i].legal;
        region.cells[word + i] = first;
        region.cells[word + i].legal = legal;
        memcpy(region.readers + (word + i) * region.warps, region.readers + word * region.warps, sizeof(Reader) * region.warps);
    }
}

// A global of the device may lie close to shared memory; it is global memory, which nobody watches.
bool is_global(uint64_t address) {
    for (uint64_t i = 0; i < watched->kept_count; ++i)
        if (address - watched->kept[i].begin < watched->kept[i].size) return true;
    return false;
}

bool within(Region& region, uint64_t address, uint32_t size, bool write, uint64_t site) {
    uint64_t index = address - region.begin;
    if (index >= region.size) return false;
    bool words = address % 4 == 0 && size % 4 == 0;
    for (uint32_t i = 0; i < size && index + i < region.size; ++i) {
        uint64_t at = index + i, word = at & ~uint64_t(3);
        if (!region.cells[at].legal) {
            if (is_global(address + i)) return false;
            note(Fault::OUT_OF_BOUNDS, site, -1, 0, address + i);
            return true;
        }
        bool parted = region.cells[word].split_epoch >= first_epoch;
        if (words && !parted && at != word) continue;
        if (!words && !parted) split(region, word);
        touch(region, at, write, site);
    }
    return true;
}

// Whether the address is one of shared memory.
bool touch_shared(uint64_t address, uint32_t size, bool write, uint64_t site) {
    return within(regions[0], address, size, write, site) || within(regions[1], address, size, write, site);
}

bool prepare(Region& region, uint64_t begin, uint64_t end, int warps) {
    free(region.cells);
    free(region.readers);
    region.begin = begin & ~uint64_t(3);
    region.size = end - region.begin;
    region.warps = warps;
    region.cells = static_cast<Cell*>(calloc(region.size + 4, sizeof(Cell)));
    region.readers = static_cast<Reader*>(calloc((region.size + 4) * uint64_t(warps), sizeof(Reader)));
    if (!region.cells || !region.readers) region.size = 0;
    return region.cells && region.readers;
}

void allow(Region& region, uint64_t begin, uint64_t size) {
    for (uint64_t i = 0; i < size && region.size; ++i) region.cells[begin - region.begin + i].legal = true;
}

}  // namespace

extern "C" void kg_emu_anchor();

#pragma GCC visibility push(hidden)
uint64_t last_access;

void shadow_access(uint64_t address, uint32_t size, bool write, uint64_t site) {
    last_access = site;
    counts_access(address, size, write, touch_shared(address, size, write, site), site);
}

// Devices fault at an address that is no multiple of the size, or take the one before.
void shadow_aligned(uint64_t address, uint32_t size, uint64_t site) {
    if (address % size) note(Fault::MISALIGNED, site, -1, 0, address);
}

bool watch_launch(const LaunchRequest* request) {
    watched = request;
    uint64_t low = ~0ull, high = 0, dynamic = reinterpret_cast<uint64_t>(kg_emu_dynamic_shared);
    int warps = (block.size + WARP - 1) / WARP;
    for (uint32_t i = 0; i < request->shared_count; ++i) {
        const Range& range = request->shared[i];
        low = range.begin < low ? range.begin : low;
        high = range.begin + range.size > high ? range.begin + range.size : high;
    }
    // Sites are kept as 32-bit distances from a place below every instruction of this library.
    origin = reinterpret_cast<uint64_t>(&kg_emu_anchor) - (1ull << 30);
    bool made = prepare(regions[0], high ? low - BEFORE : 0, high ? high + AFTER : 0, warps);
    for (uint32_t i = 0; i < request->shared_count; ++i) allow(regions[0], request->shared[i].begin, request->shared[i].size);
    made &= prepare(regions[1], dynamic - AFTER, dynamic + request->dynamic_shared + AFTER, warps);
    allow(regions[1], dynamic, request->dynamic_shared);
    counts_launch();
    return made;
}

void watch_block_begin() {
    first_epoch = block.epoch;
    counts_block_begin();
}
void watch_copy(Thread*, const void* shared, int bytes, uint64_t site) {
    last_access = site;
    touch_shared(reinterpret_cast<uint64_t>(shared), uint32_t(bytes), true, site);
}
void watch_inactive_lane(uint64_t site) { note(Fault::INACTIVE_LANE, site, -1, 0, 0); }
void watch_meeting(uint64_t site, uint64_t other) {
    if (site != other) note(Fault::UNLIKE_MEETING, site, -1, other, 0);
}
#pragma GCC visibility pop

// Hands over what was found since the last call.
extern "C" __attribute__((visibility("default"))) int32_t kg_emu_take_findings(Finding* into, int32_t room) {
    int count = finding_count < room ? finding_count : room;
    memcpy(into, findings, sizeof(Finding) * size_t(count));
    finding_count = 0;
    return count;
}
