// What instrumented code does to memory and to its fellow threads, per source access, in the layout that counts.py reads.
#pragma once
#include <stdint.h>

#include "banks.h"

enum class Access : int32_t {
    SHARED_LOAD = 1,
    SHARED_STORE = 2,
    GLOBAL_LOAD = 3,
    GLOBAL_STORE = 4,
    BARRIER = 5,
    WARP_BARRIER = 6,
    SHUFFLE = 7,
};

// `times`: how often a warp made this access (a block, for barriers). Of shared memory: cycles lost to conflicts and the
// worst access's ways, per bank model. Of global memory: sectors of 32 bytes, and the worst access's.
struct Counted {
    uint64_t site, times, sectors, worst_sectors;
    uint64_t lost[BANK_MODELS], ways[BANK_MODELS];
    Access access;
    int32_t reserved;
};

#pragma GCC visibility push(hidden)
void counts_launch();
void counts_block_begin();
void counts_access(uint64_t address, uint32_t size, bool write, bool shared, uint64_t site);
#pragma GCC visibility pop
