#include "banks.h"

namespace {

constexpr uint32_t BANKS = 32, SECTOR_WORDS = 8;

// Bits of the lanes that phase `phase` serves.
uint32_t lanes_of(BankModel model, uint32_t size, bool write, uint32_t phase) {
    if (size <= 4) return ~0u;
    if (size <= 8) return 0xffffu << (phase * 16);
    static const uint32_t SPREAD[4] = {0x00f0000f, 0x000f00f0, 0xf0000f00, 0x0f00f000};
    return model == GFX906 && !write ? SPREAD[phase] : 0xffu << (phase * 8);
}

// Most distinct words that any bank has to give.
uint32_t cycles(const uint32_t* words, uint32_t lanes, uint32_t words_per_lane) {
    uint32_t wanted[BANKS][BANKS], count[BANKS] = {}, most = 0;
    for (; lanes; lanes &= lanes - 1) {
        for (uint32_t i = 0; i < words_per_lane; ++i) {
            uint32_t word = words[__builtin_ctz(lanes)] + i, bank = word % BANKS, k = 0;
            while (k < count[bank] && wanted[bank][k] != word) ++k;
            if (k < count[bank]) continue;
            wanted[bank][count[bank]++] = word;
            most = count[bank] > most ? count[bank] : most;
        }
    }
    return most;
}

}  // namespace

#pragma GCC visibility push(hidden)
BankCost bank_cost(BankModel model, const uint32_t* words, uint32_t lanes, uint32_t size, bool write) {
    BankCost cost = {0, 0};
    for (uint32_t phase = 0, phases = size <= 4 ? 1 : size <= 8 ? 2 : 4; phase < phases; ++phase) {
        uint32_t taken = cycles(words, lanes & lanes_of(model, size, write, phase), (size + 3) / 4);
        cost.lost += taken > 1 ? taken - 1 : 0;
        cost.ways = taken > cost.ways ? taken : cost.ways;
    }
    return cost;
}

// Distinct 32-byte sectors that the lanes touch.
uint32_t sectors_of(const uint32_t* words, uint32_t lanes, uint32_t size) {
    uint32_t found[64], count = 0;
    for (; lanes; lanes &= lanes - 1) {
        uint32_t word = words[__builtin_ctz(lanes)];
        for (uint32_t sector = word / SECTOR_WORDS; sector <= (word + (size - 1) / 4) / SECTOR_WORDS; ++sector) {
            uint32_t k = count;
            while (k && found[k - 1] != sector) --k;
            if (!k) found[count++] = sector;
        }
    }
    return count;
}
#pragma GCC visibility pop
