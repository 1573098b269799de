// What the race check finds, in the layout that races.py reads.
#pragma once
#include <stdint.h>

enum class Fault : int32_t {
    READ_AFTER_WRITE = 1,
    WRITE_AFTER_READ = 2,
    WRITE_WRITE = 3,
    OUT_OF_BOUNDS = 4,
    UNINITIALISED = 5,
    INACTIVE_LANE = 6,
    UNLIKE_MEETING = 7,
    MISALIGNED = 8,
};

struct Finding {
    Fault fault;
    int32_t thread, other_thread, times;
    uint64_t site, other_site, address;
    uint32_t block[3], reserved;
};

#pragma GCC visibility push(hidden)
void shadow_access(uint64_t address, uint32_t size, bool write, uint64_t site);
void shadow_aligned(uint64_t address, uint32_t size, uint64_t site);
#pragma GCC visibility pop
