// Bank models of shared memory: how many cycles the accesses of one warp of 32 lanes take.
//
// In all three, word w (4 bytes) lies in bank w mod 32, a cycle serves one word of each bank, and lanes that want the
// same word share it. A warp's access is cut into phases of lanes that are served together; a phase takes as many cycles
// as the bank with the most distinct words.
//   nvidia  phases of 32 lanes up to 4 bytes, of half a warp for 8, of a quarter for 16 (CUDA C++ Programming Guide,
//           "Shared Memory", compute capability 5.0 and later; Nsight Compute reports wider accesses this way).
//   gfx906  a half-wave of 32 lanes is checked together (AMD OpenCL Optimization Guide, "Local Memory (LDS)
//           Optimization"), 16 lanes for 8 bytes, 8 for 16; a 16-byte load pairs lanes 0-3 with 20-23, 4-7 with 16-19
//           and so on (Composable Kernel's documentation of LDS bank conflicts).
//   rdna    the 32 banks on one side of a WGP's LDS ("two sets of 32 banks", RDNA 2 ISA guide, "Local Data Share");
//           one wave32 per cycle. For wider accesses nothing is published: phases as above, of neighbouring lanes.
#pragma once
#include <stdint.h>

constexpr int BANK_MODELS = 3;
enum BankModel { NVIDIA = 0, GFX906 = 1, RDNA = 2 };

struct BankCost {
    uint32_t lost, ways;  // cycles beyond one per phase; cycles of the slowest phase
};

#pragma GCC visibility push(hidden)
// `words`: each lane's first word; `lanes`: who takes part, as bits; `size`: bytes per lane, 1 to 16.
BankCost bank_cost(BankModel model, const uint32_t* words, uint32_t lanes, uint32_t size, bool write);
uint32_t sectors_of(const uint32_t* words, uint32_t lanes, uint32_t size);
#pragma GCC visibility pop
