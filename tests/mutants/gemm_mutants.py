"""Wrong versions of gemm. Peers' bugs: tinyBLAS (llamafile), whose batched tiles gave garbage, and what any GEMM gets wrong."""

from __future__ import annotations

from functools import partial

from mutant import How, Mutant, Says

FEW = ("gemm/llama-1b/attn_kv/m16-n128/f32",)
FEW_SPLIT = ("gemm/llama-1b/ffn_down/m16-n32/f32",)
ROWS = ("gemm/llama-1b/attn_o/m33-n61/f32",)
SPLIT = ("gemm/llama-1b/ffn_gate_up/m64-n32/f32",)
PAIRS = ("gemm/gemma-2b/ffn_gate_up/m40-n48/f16",)
QUANT = ("gemm/gpt-oss-20b/expert_down/m33-n40/q4_0",)
FEW_QUANT = ("gemm/llama-8b/attn_o/m4-n64/q4_0",)
TAIL = ("gemm/edge/tail/m125-n31-k1021/f32",)
BATCH = ("gemm/edge/batch/m36-n28-k100-opstn-alpha2.5-beta-1-batch9-broadcastW-gap3/f32",)
LIST = ("gemm/edge/list/m40-n24-k72-opsnn-beta1-batch5-distinct2-pad4-offset4/f16",)
OPS = ("gemm/edge/ops/m67-n35-k130-opstt-alpha-1-pad1-offset1/f16-f32",)
OVERFLOW = ("gemm/edge/overflow/m40-n64-k256-outlier8192.0/f16",)
OFFSET = ("gemm/edge/tail/m65-n33-k64-offset1/f32",)
NOTHING = ("gemm/edge/scale/m33-n17-k0/f32",)

gemm = partial(Mutant, kernel="gemm")

MUTANTS = (
    gemm(
        "row_bound", "off-by-one bound", "The last row's check lets one more through: in a batch it lands in the next matrix.",
        file="operand.h", old="if (row >= M || column >= N) return;", new="if (row > M || column >= N) return;",
        cases=(*ROWS, "gemm/qwen3.5-35b-a3b/expert_down/m10-n96/f16-f32"), says=Says.OUTSIDE,
    ),
    gemm(
        "column_bound", "off-by-one bound", "One column too many, into the padding between C's rows (ldc above N).",
        file="operand.h", old="if (row >= M || column >= N) return;", new="if (row >= M || column > N) return;",
        cases=OPS, says=Says.PADDING,
    ),
    gemm(
        "last_row_missing", "unwritten tail", "The last row of C belongs to nobody.",
        file="operand.h", old="if (row >= M || column >= N) return;", new="if (row >= M - 1 || column >= N) return;",
        cases=ROWS, says=Says.UNWRITTEN,
    ),
    gemm(
        "k_tail_skipped", "K tail", "K is walked in whole steps only.",
        file="gemm.cu", old="k < end; k += KG_BK", new="k + KG_BK <= end; k += KG_BK", cases=TAIL, says=Says.ERROR,
    ),
    gemm(
        "k_tail_read", "K tail", "The last step reads beyond K: into the NaN between the rows.",
        file="gemm.cu", old="share::mine(i) && row < rows && at < end);\n        }\n    }\n\n    __device__ __forceinline__ void store(float* tile) const\n    {\n        const int across",
        new="share::mine(i) && row < rows && at <= end);\n        }\n    }\n\n    __device__ __forceinline__ void store(float* tile) const\n    {\n        const int across",
        cases=OPS, says=Says.NAN,
    ),
    gemm(
        "few_k_tail", "K tail", "The path of few rows stages A's last chunk without looking where K ends.",
        file="few.cu", old="row < M && k + at < end);", new="row < M);",
        cases=("gemm/edge/few/m7-n70-k264-pad1/f32",), says=Says.NAN,
    ),
    gemm(
        "leading_dimension", "wrong stride", "C is stored with N instead of ldc from row to row.",
        file="operand.h", old="+ row * ldc + column, sum,", new="+ row * N + column, sum,", cases=OPS, says=Says.PADDING,
    ),
    gemm(
        "transposed_as_plain", "wrong stride", "A stored as [K, M] is entered as [M, K]: tinyBLAS took T and N only and said so; others forget to.",
        file="gemm.cu", old="(KG_TA ? first_row : first_row * lda)", new="first_row * lda", cases=OPS, says=Says.NAN,
    ),
    gemm(
        "batch_stride", "batch stride", "Stride 0 is taken for none given, and replaced: a W that all batches share is read beyond its end.",
        file="gemm.cu", old="matrix(W, w_batch, z, listed)", new="matrix(W, w_batch ? w_batch : ldw, z, listed)", cases=BATCH, says=Says.NAN,
    ),
    gemm(
        "list_first_only", "pointer array", "Of the addresses of a batch only the first is used.",
        file="operand.h", old="reinterpret_cast<T* const*>(base)[z]", new="reinterpret_cast<T* const*>(base)[0]", cases=LIST, says=Says.ERROR,
    ),
    gemm(
        "list_without_offset", "pointer array", "The plan forgets where in its storage a matrix of the list begins.",
        file="plan.py", old="(matrix.offset + pick * matrix.batch) * matrix.bytes", new="pick * matrix.batch * matrix.bytes",
        cases=LIST, says=Says.NAN,
    ),
    gemm(
        "address_in_32_bits", "32-bit offset", "An address goes through 32 bits on its way, as offsets did in llama.cpp's tile kernel (PR 14840).",
        file="operand.h", old="reinterpret_cast<T* const*>(base)[z] : base + stride * z;",
        new="reinterpret_cast<T*>(uint64_t(uint32_t(reinterpret_cast<uint64_t>(reinterpret_cast<T* const*>(base)[z])))) : base + stride * z;",
        cases=LIST, says=Says.CRASHED,
    ),
    gemm(
        "beyond_the_grid", "batch beyond the grid", "One tile per block, as if no batch were larger than a grid (tinyBLAS: grid z of 32).",
        file="gemm.cu", old="item < tiles * batches; item += gridDim.x", new="item < tiles * batches; item += tiles * batches",
        cases=BATCH, says=Says.ERROR,
    ),
    gemm(
        "beta_zero_reads", "C read at beta 0", "0 times a NaN that lay in C is NaN. The poison keeps its bits, so the report counts it as unwritten or made of what was there.",
        file="operand.h", old="beta == 0.0f ? scaled : kg_fma(beta, to_float(*C), scaled)", new="kg_fma(beta, to_float(*C), scaled)",
        cases=ROWS, says=Says.UNWRITTEN,
    ),
    gemm(
        "k_zero_returns", "C read at beta 0", "With K 0 there is nothing to do, says the kernel; C had to become zero.",
        file="gemm.cu", old="    const int32_t row_tiles = (M + KG_BM - 1) / KG_BM;", new="    if (K == 0) return;\n    const int32_t row_tiles = (M + KG_BM - 1) / KG_BM;",
        cases=NOTHING, says=Says.UNWRITTEN,
    ),
    gemm(
        "alpha_forgotten", "alpha and beta", "alpha is taken for 1, as tinyBLAS demands of its callers.",
        file="operand.h", old="scaled = alpha * sum", new="scaled = sum", cases=BATCH, says=Says.ERROR,
    ),
    gemm(
        "beta_scaled_too", "alpha and beta", "alpha reaches beta C as well.",
        file="operand.h", old="kg_fma(beta, to_float(*C), scaled)", new="alpha * kg_fma(beta, to_float(*C), sum)", cases=BATCH, says=Says.ERROR,
    ),
    gemm(
        "split_lost", "split-K combine", "The last split is not added.",
        file="sum.cu", old="split < splits; ++split", new="split < splits - 1; ++split", cases=SPLIT, says=Says.ERROR,
    ),
    gemm(
        "split_beta_each", "split-K combine", "Splits are summed and beta C is applied, but alpha was applied to each split before.",
        file="operand.h", old="* N + column] = sum;", new="* N + column] = sum + (blockIdx.y ? sum : 0.0f);", cases=FEW_SPLIT, says=Says.ERROR,
    ),
    gemm(
        "split_slots_shared", "split-K combine", "All splits write one slot, and the others are summed as they lie there.",
        file="operand.h", old="parts[((int64_t(blockIdx.y) * batches + z)", new="parts[((int64_t(0) * batches + z)", cases=SPLIT, says=Says.NAN,
    ),
    gemm(
        "order_of_arrival", "nondeterminism", "Splits are added in another order at every launch, as atomics do.",
        file="sum.cu", old="sum += parts[split * all + index];",
        new="sum += parts[(split + turn) % splits * all + index] * (1.0f + 3e-7f * float(turn));\n        if (index + 1 == all) ++turn;",
        cases=SPLIT, says=Says.DIFFER, globals="__device__ int turn;\n",
    ),
    gemm(
        "half_sums", "lower precision inside", "Sums are rounded to fp16 after each product.",
        file="gemm.cu", old="return kg_fma(a, w, sum); }", new="return kg_to_float(kg_to_half(kg_fma(a, w, sum))); }", cases=ROWS, says=Says.ERROR,
    ),
    gemm(
        "half_operands", "lower precision inside", "fp32 goes into the tile as fp16: fast, and three digits are gone.",
        file="gemm.cu", old="tile[k * (ROWS + PAD) + row] = held[i][v];", new="tile[k * (ROWS + PAD) + row] = kg_to_float(kg_to_half(held[i][v]));",
        cases=ROWS, says=Says.ERROR,
    ),
    gemm(
        "half_overflow", "fp16 overflow", "Sums of two halves stay fp16: the outlier row becomes infinite where C is fp32.",
        file="gemm.cu", old="return kg_dot2(a, w, sum); }", new="return kg_to_float(kg_to_half(kg_dot2(a, w, sum))); }",
        cases=OVERFLOW, says=Says.INFINITE,
    ),
    gemm(
        "saturated", "NaN swallowed", "What overflows is clipped to the largest fp16, so that no infinity shows.",
        file="operand.h", old="to = kg_to_half(value); }", new="to = kg_to_half(kg_max(-65504.0f, kg_min(65504.0f, value))); }",
        cases=OVERFLOW, says=Says.INFINITE,
    ),
    gemm(
        "nibbles_swapped", "quantised format", "The lower and the upper half of a Q4_0 byte change places.",
        file="operand.h", old="(upper ? 4 : 0)", new="(upper ? 0 : 4)", cases=(*QUANT, *FEW_QUANT), says=Says.ERROR,
    ),
    gemm(
        "misaligned_load", "misaligned 16-byte load", "The plan looks at strides only: a base one element on gets loads of 16 bytes.",
        file="plan.py", old="for size in (m.columns, m.row, m.batch, m.offset))", new="for size in (m.columns, m.row, m.batch))",
        cases=OFFSET, says=Says.RACE, how=How.RACES,
    ),
    gemm(
        "shared_too_large", "shared memory over the limit", "The plan asks for four times the tile: Pascal refused llama.cpp's 320/256 tile (issue 22491).",
        file="plan.py", old="return 4 * (tile.bk // 2 if pairs else tile.bk) * (tile.bm + PAD + tile.bn + PAD)", new="return 32 * tile.bk * (tile.bm + PAD + tile.bn + PAD)",
        cases=ROWS, says=Says.REFUSED,
    ),
    gemm(
        "shared_too_small", "shared memory too small", "The plan's sum is 128 bytes short: a block runs over its end, as a kernel on MI300X did unseen.",
        file="plan.py", old="return 4 * (tile.bk // 2 if pairs else tile.bk) * (tile.bm + PAD + tile.bn + PAD)", new="return 4 * (tile.bk // 2 if pairs else tile.bk) * (tile.bm + PAD + tile.bn + PAD) - 128",
        cases=ROWS, says=Says.RACE, how=How.RACES,
    ),
    gemm(
        "plan_by_hash", "plan fault", "The plan depends on the hash seed of its process.",
        file="plan.py", old="wide = grid_width(blocks(lay, tunables) * lay.batch, build[\"block\"], device)", new="wide = 1 + hash(\"a\") % 7",
        cases=ROWS, says=Says.REFUSED,
    ),
    gemm(
        "wrong_arguments", "plan fault", "An argument is passed as 32 bits where the kernel takes 64.",
        file="plan.py", old='*({"i64": value} for value in wide)', new='*({"i32": value} for value in wide)', cases=ROWS, says=Says.REFUSED,
    ),
    gemm(
        "shuffle_in_branch", "lane that is not active", "Half of the lanes leave before the exchange that needs them.",
        file="few.cu", old="sum[i] = kept + kg_shfl_xor(given, DISTANCE);", new="if (!upper) sum[i] = kept + kg_shfl_xor(given, DISTANCE);",
        cases=FEW, says=Says.RACE, how=How.RACES,
    ),
)  # fmt: skip
