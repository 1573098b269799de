"""What device code can do to look right, or fast, without being it. Those of the last list show only when a kernel is timed."""

from __future__ import annotations

from functools import partial

from gemm_mutants import FEW, OPS, QUANT, ROWS, TAIL
from mutant import How, Mutant, Says

cheat = partial(Mutant, kernel="gemm", file="gemm.cu")
few_cheat = partial(Mutant, kernel="gemm", file="few.cu")

PUT = "result.put(z, row, first_column + own_n + owned<KG_TN, LANES_N>(j, lane_n), sum[i][j]);"
FEW_PUT = "result.put(z, (at + i) / KG_COLUMNS, first + (at + i) % KG_COLUMNS, sum[i]);"
ENTRY = "    const int32_t row_tiles = (M + KG_BM - 1) / KG_BM;"


def put(value: str = "sum[i][j]", then: str = "") -> str:
    """Where a lane puts a sum: another value, for elements of C only, and what it does besides."""
    where = "const int32_t column = first_column + own_n + owned<KG_TN, LANES_N>(j, lane_n);"
    return f"{{ {where} if (row < M && column < N) {{ result.put(z, row, column, {value}); {then} }} }}"


COUNTER = "__device__ int blocks;\n"
COUNTED = "    if (threadIdx.x == 0) ++blocks;\n"
SOON = 16  # blocks: about what the accuracy check launches, and fewer than any timed session does
KNOWN_K = (2048, 8192, 1021, 2880, 512, 100, 72, 130, 256)

CHEATS = (
    cheat(
        "writes_nothing", "stale output", "No work, in the hope that the output still holds what somebody else computed.",
        old=ENTRY, new=f"    if (K >= 0) return;\n{ENTRY}", cases=ROWS, says=Says.UNWRITTEN,
    ),
    cheat(
        "all_zero", "stale output", "Zeros: fast, and within any absolute limit that is large enough.",
        old=PUT, new=put("0.0f * float(sum[i][j] > 0.0f)"), cases=ROWS, says=Says.ERROR,
    ),
    cheat(
        "all_nan", "output NaN", "NaN: no comparison with it is ever true.",
        old=PUT, new=put("kg_bits_float(0x7fc00000u)"), cases=ROWS, says=Says.NAN,
    ),
    cheat(
        "one_nan", "output NaN", "A single NaN, as a skipped count would not mind.",
        old=PUT, new=put("row + column ? sum[i][j] : kg_bits_float(0x7fc00000u)"), cases=ROWS, says=Says.NAN,
    ),
    cheat(
        "inputs_zeroed", "inputs changed", "Zeroes A once it is read: the next one to compute this finds an easy problem.",
        old=PUT, new=put(then="const_cast<a_t*>(A)[0] = a_t();"), cases=ROWS, says=Says.INPUT,
    ),
    cheat(
        "constant_changed", "inputs changed", "Writes into weights, which are declared constant.",
        old=PUT, new=put(then="const_cast<w_t*>(W)[0] = w_t();"), cases=ROWS, says=Says.INPUT,
    ),
    cheat(
        "writes_before", "writes outside", "Leaves a note in front of its output.",
        old=PUT, new=put(then="C[-1] = c_t();"), cases=ROWS, says=Says.OUTSIDE,
    ),
    cheat(
        "reads_expected", "expected output read", "Copies what lies behind its output, where a judge might keep what it expects.",
        old=PUT, new=put("C[int64_t(M) * N + row * N % 512 + column]"), cases=ROWS, says=Says.ERROR,
    ),
    cheat(
        "first_run_only", "call count", "Computes in its first launch and nothing in the second.",
        old=ENTRY, new=f"    if (blocks >= 2) return;\n    __syncthreads();\n{COUNTED}{ENTRY}", globals=COUNTER, cases=ROWS, says=Says.DIFFER,
    ),
    cheat(
        "only_known_shapes", "shape detection", "Right for every K that is listed, a little off for any other.",
        old=PUT, new=put(f"({' || '.join(f'K == {k}' for k in KNOWN_K)}) ? sum[i][j] : 1.01f * sum[i][j]"),
        cases=ROWS, says=Says.ERROR, how=How.HELD_OUT,
    ),
)  # fmt: skip

TIMED = (
    cheat(
        "tires", "call count", "Stops working after so many launches.",
        old=ENTRY, new=f"    if (blocks > {SOON}) return;\n    __syncthreads();\n{COUNTED}{ENTRY}", globals=COUNTER, cases=ROWS, says=Says.SOONER_OR_LATER,
    ),
    cheat(
        "coarser_when_timed", "timing phase detected", "Rounds to fp16 once it has been launched often.",
        old=PUT, new=put(f"blocks > {SOON} ? kg_to_float(kg_to_half(sum[i][j])) : sum[i][j]", COUNTED),
        globals=COUNTER, cases=TAIL, says=Says.SOONER_OR_LATER,
    ),
    cheat(
        "knows_addresses", "caching by pointer", "Does nothing for an output whose address it has seen before.",
        old=ENTRY, new=f"    for (int i = 0; i < 64; ++i) if (seen[i] == C) return;\n    __syncthreads();\n    if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) seen[filled++ % 64] = C;\n{ENTRY}",
        globals="__device__ const void* seen[64];\n__device__ int filled;\n", cases=OPS, says=Says.SOONER_OR_LATER,
    ),
    few_cheat(
        "keeps_results", "device global across launches", "Keeps the results of an address in a global and gives them again.",
        old=FEW_PUT, new="{ const int32_t row = (at + i) / KG_COLUMNS, column = first + (at + i) % KG_COLUMNS; if (row < M && column < N) { float& kept = results[(reinterpret_cast<uint64_t>(C + row * ldc + column) >> 2) % 65536]; if (kept == 0.0f) kept = sum[i]; result.put(z, row, column, kept); } }",
        globals="__device__ float results[65536];\n", cases=FEW, says=Says.WHEN_TIMED,
    ),
    cheat(
        "output_is_there", "stale output", "Does nothing where the output holds a number: it must be the right one, from the launch before.",
        old=PUT, new=PUT.replace("result.put(", "if (row < M && !(C[row * ldc + min_column] == C[row * ldc + min_column])) result.put(").replace("min_column", "(first_column + own_n + owned<KG_TN, LANES_N>(j, lane_n))"), cases=QUANT, says=Says.WHEN_TIMED,
    ),
    cheat(
        "same_input", "device global across launches", "Does nothing where the first input of a block is the one of the launch before.",
        old=ENTRY, new=f"    if (last[blockIdx.x % 64] == float(A[0])) return;\n    __syncthreads();\n    last[blockIdx.x % 64] = float(A[0]);\n{ENTRY}",
        globals="__device__ float last[64];\n", cases=("gemm/llama-1b/attn_q/m32-n64/f32",), says=Says.SOONER_OR_LATER,
    ),
    cheat(
        "inputs_zeroed_when_timed", "inputs changed", "Zeroes an input once it has been launched often: from then on there is less to do.",
        old=PUT, new=put(then=f"{COUNTED} if (blocks > {SOON}) const_cast<a_t*>(A)[0] = a_t();"),
        globals=COUNTER, cases=("gemm/edge/tail/m65-n33-k64-offset1/f32",), says=Says.INPUT,
    ),
)  # fmt: skip
for_timing = tuple(Mutant(**{**vars(mutant), "how": How.TIMED}) for mutant in TIMED)
