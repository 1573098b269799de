"""Wrong versions of la_prefill and la_decode. Peers' bugs: fla, hip-ep, ONNX runtimes and others with the gated delta rule."""

from __future__ import annotations

from functools import partial

from mutant import How, Mutant, Says

PROMPT = ("la_prefill/qwen3.5-35b-a3b/linear/t40/f16",)
CARRIED = ("la_prefill/qwen3.5-35b-a3b/linear/t33-s0/f32",)
PACKED = ("la_prefill/edge/packed/t1+0+16+17/bf16",)
STEEP = ("la_prefill/edge/steep/t19/f32",)
KEPT = ("la_prefill/edge/kept/t18/f16",)
DEEP = ("la_prefill/edge/deep/t7/f32",)
STEP = ("la_decode/edge/tiled/b3/f32",)
FIRST = ("la_decode/edge/first/b2/bf16",)
STEPS = ("la_decode/qwen3-next-80b-a3b/linear/b2/bf16",)

la = partial(Mutant, kernel="la_prefill")

MUTANTS = (
    la(
        "exp_of_a_sum", "exp of a sum", "A decay as a quotient of two cumulated ones: exp(-cumsum) overflows, then 0 times inf (executorch 21417, fla 99).",
        file="la_prefill.cu", old="const float d = decay(s + 1, t);", new="const float d = decay(0, t) / decay(0, s);", cases=STEEP, says=Says.NAN,
    ),
    la(
        "safe_exp_dropped", "exp of a sum", "Decays are clipped where they get small: no NaN, but wrong (cudnn-frontend 1017).",
        file="la_prefill.cu", old="return kg_exp(sum);", new="return kg_exp(kg_max(sum, -3.0f));", cases=STEEP, says=Says.ERROR,
    ),
    la(
        "state_leaks", "stale state between packed sequences", "A sequence starts from the state of the one before (fla 1184).",
        file="la_prefill.cu", old="state[i] = s0[state_at + row_of(i, part) * KG_DV];",
        new="state[i] = s0[state_at - (sequence ? int64_t(v_heads) * KG_DK * KG_DV : 0) + row_of(i, part) * KG_DV];", cases=PACKED, says=Says.ERROR,
    ),
    la(
        "sequence_end", "sequence boundaries", "Each packed sequence ends a token early.",
        file="la_prefill.cu", old="const int64_t end = starts[sequence + 1];", new="const int64_t end = starts[sequence + 1] - 1;", cases=PACKED, says=Says.UNWRITTEN,
    ),
    la(
        "starts_ignored", "sequence boundaries", "Prompts are taken to be of one length (slime 1686: cu_seqlens not passed).",
        file="la_prefill.cu", old="const int64_t end = starts[sequence + 1];\n  for (int64_t token = starts[sequence];",
        new="const int64_t all = starts[gridDim.x], end = all * (sequence + 1) / gridDim.x;\n  for (int64_t token = all * sequence / gridDim.x;",
        cases=PACKED, says=Says.ERROR,
    ),
    la(
        "starts_overwritten", "inputs changed", "The kernel keeps its place in the list of starts (fla 838: cu_seqlens overwritten).",
        file="la_prefill.cu", old="const int64_t end = starts[sequence + 1];",
        new="const int64_t end = starts[sequence + 1];\n  if (blockIdx.y == 0 && blockIdx.z == 0 && threadIdx.x == 0)\n    const_cast<int32_t *>(starts)[0] = 1;",
        cases=PROMPT, says=Says.INPUT,
    ),
    la(
        "tail_chunk", "tail chunk skipped", "Whole chunks only (fla 906, beyond 65,536 tokens).",
        file="la_prefill.cu", old="token < end; token += CHUNK", new="token + CHUNK <= end; token += CHUNK", cases=CARRIED, says=Says.UNWRITTEN,
    ),
    la(
        "tail_gates", "off-by-one bound", "The gates of a tail chunk are read beyond the last token.",
        file="la_prefill.cu", old="chunk.g[t] = t < tokens ? g[int64_t(t) * v_heads] : 0.0f;", new="chunk.g[t] = g[int64_t(t) * v_heads];",
        cases=PROMPT, says=Says.NAN,
    ),
    la(
        "tail_tokens", "off-by-one bound", "One token too many is stored.",
        file="la_prefill.cu", old="for (int t = part; t < tokens; t += KG_SPLIT) {", new="for (int t = part; t < tokens + (tokens < CHUNK); t += KG_SPLIT) {",
        cases=PROMPT, says=Says.OUTSIDE,
    ),
    la(
        "head_mapping", "wrong head mapping", "Grouped and tiled key heads are taken for each other (llama.cpp tiles, fla groups).",
        file="la.h", old="return tiled ? value_head % k_heads : value_head / (v_heads / k_heads);", new="return !tiled ? value_head % k_heads : value_head / (v_heads / k_heads);",
        cases=(*PACKED, *STEP), says=Says.ERROR,
    ),
    la(
        "beta_missing", "wrong update", "T lacks the step beta.",
        file="la_prefill.cu", old="chunk.t[t][s] = chunk.beta[t] * d * kk;", new="chunk.t[t][s] = d * kk;", cases=CARRIED, says=Says.ERROR,
    ),
    la(
        "solve_unordered", "wrong update", "The triangular system is solved by one sweep, as if rows did not depend on each other.",
        file="la_prefill.cu", old="for (int s = part; s < t; s += KG_SPLIT)\n      sum", new="for (int s = part; s < 1; s += KG_SPLIT)\n      sum", cases=CARRIED, says=Says.ERROR,
    ),
    la(
        "initial_state_ignored", "initial state", "Every prompt starts at zero: 1000 and 842 tokens are not 1842.",
        file="la_prefill.cu", old="if (s0 && owned) {", new="if (false && owned) {", cases=CARRIED, says=Says.ERROR,
    ),
    la(
        "state_in_bf16", "lower precision inside", "The state is rounded to bf16 after each chunk (hip-ep keeps it in the tensor's type).",
        file="la_prefill.cu", old="    state[i] *= whole;", new="    state[i] = kg_to_float(kg_to_bf16(state[i] * whole));", cases=CARRIED, says=Says.ERROR,
    ),
    la(
        "fused_stride", "wrong stride", "q, k and v as slices of wider rows are walked as if they were packed.",
        file="layout.py", old="return 2 * self.k_width + self.v_width if self.fused else self.v_width", new="return self.v_width", cases=PROMPT, says=Says.NAN,
    ),
    la(
        "columns_lost", "unwritten tail", "Columns beyond the last whole block have none: a dv that no model has.",
        file="plan.py", old='ceil(lay.dv / build["defines"]["KG_COLUMNS"])', new='max(1, lay.dv // build["defines"]["KG_COLUMNS"])', cases=DEEP, says=Says.UNWRITTEN,
    ),
    la(
        "columns_beyond", "off-by-one bound", "Lanes without a column store one.",
        file="la_decode.cu", old="const bool owned = here < KG_DV;", new="const bool owned = here <= KG_DV;", cases=FIRST, says=Says.OUTSIDE,
    ),
    la(
        "split_not_added", "partial results lost", "The last step of the sum over the lanes of a column is left out.",
        file="la.h", old="mask > 0; mask /= 2", new="mask > 1; mask /= 2", cases=CARRIED, says=Says.ERROR, tunables="dk_split:4",
    ),
    la(
        "sum_in_branch", "lane that is not active", "The lanes of a column leave each other before they add up.",
        file="la_prefill.cu", old="    sum = sum_split(sum);\n    if (t % KG_SPLIT == part)\n      chunk.u[t][column] -= sum;",
        new="    if (t % KG_SPLIT == part)\n      chunk.u[t][column] -= sum_split(sum);", cases=CARRIED, says=Says.STUCK, tunables="dk_split:4",
    ),
    la(
        "barrier_in_branch", "barrier not reached by all", "A barrier in a branch that the last chunk does not take.",
        file="la_prefill.cu", old="    __syncthreads(); // (2)", new="    if (threadIdx.x < 32 || tokens == CHUNK)\n      __syncthreads(); // (2)",
        cases=CARRIED, says=Says.RACE, how=How.RACES,
    ),
    la(
        "chunk_too_large", "shared memory over the limit", "The largest chunk, whatever its tiles take (hip-ep checks against 64 KiB).",
        file="plan.py", old="<= device[\"shared_per_block\"]), CHUNKS[-1])", new="<= 1 << 30), CHUNKS[-1])",
        cases=("la_prefill/edge/swept/d512x40/f32",), says=Says.TOO_MUCH,
    ),
    la(
        "grid_axis", "grid over the limit", "Sequences times heads on an axis of 65,535 blocks (fla 1077).",
        file="plan.py", old="grid = [lay.sequences, lay.v_heads, ceil(", new="grid = [1, lay.sequences * lay.v_heads, ceil(",
        cases=("la_decode/edge/many/b2100/f32",), says=Says.REFUSED,
    ),
    la(
        "decode_decay", "wrong update", "A step decays the state after the update, not before.",
        file="la_decode.cu", old="kg_fma(-keep, sum_split(sk), target)", new="kg_fma(-1.0f, sum_split(sk), target)", cases=(*STEP, *STEPS), says=Says.ERROR,
    ),
    la(
        "decode_state_swapped", "wrong stride", "The state is stored transposed, as llama.cpp does, but was given as it is.",
        file="la_decode.cu", old="    s1[state_at + (i * KG_SPLIT + part) * KG_DV] = state[i];",
        new="    s1[(gate * KG_DV + here) * KG_DK + i * KG_SPLIT + part] = state[i];", cases=STEP, says=Says.ERROR,
    ),
)  # fmt: skip
