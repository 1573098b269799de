"""Wrong versions of fa_tile. Peers' bugs: those of llama.cpp's tile kernel and its forks."""

from __future__ import annotations

from functools import partial

from mutant import How, Mutant, Says

PROMPT = ("fa_tile/llama-1b/prompt/q32-kv96/f16",)
BUFFER = ("fa_tile/llama-1b/prompt/q17-kv113/f32",)
TOKEN = ("fa_tile/llama-1b/token/q1-kv257/f16",)
WINDOW = ("fa_tile/gpt-oss-20b/prompt/q7-kv150-window/f16",)
SINK_TOKEN = ("fa_tile/gpt-oss-20b/token/q1-kv257/f16",)
BLIND = ("fa_tile/edge/blind/q20-kv13-d128/f32",)
UNALIGNED = ("fa_tile/edge/unaligned/q3-kv37-d256-b2/f16",)
SINGLE = ("fa_tile/edge/single/q1-kv300-d64/f32",)
RAGGED = ("fa_tile/edge/ragged/q4-kv70-d72-b2/f16",)
FUSED = ("fa_tile/edge/fused/q4-kv45-d192-128/f16",)
LARGE_KQ = ("fa_tile/edge/hard/q9-kv41-large_kq/f16",)
LARGE_V = ("fa_tile/edge/hard/q9-kv41-large_v/f16",)

fa_tile = partial(Mutant, kernel="fa_tile")

MUTANTS = (
    fa_tile(
        "mask_row_stride", "mask row stride", "The mask is walked at the wrong row stride (ik_llama.cpp PR 2087: NaN with a sliding window).",
        file="plan.py", old="(lay.n_kv, lay.n_q * lay.n_kv)", new="(lay.n_q, lay.n_q * lay.n_kv)", cases=BUFFER, says=Says.ERROR,
    ),
    fa_tile(
        "mask_of_sequence_0", "wrong stride", "Every sequence gets the mask of the first.",
        file="fa_tile.cu", old="mask += sequence * steps.mask_sequence;", new="mask += 0 * steps.mask_sequence;",
        cases=("fa_tile/edge/ragged/q4-kv70-d72-b2/f16",), says=Says.ERROR,
    ),
    fa_tile(
        "sinks_ignored", "sinks ignored", "The sink has no share of the denominator (ik_llama.cpp PR 2087: gpt-oss on P100).",
        file="fa_tile.cu", old="#if KG_SINKS", new="#if 0", cases=(*WINDOW, *SINK_TOKEN), says=Says.ERROR,
    ),
    fa_tile(
        "sink_in_every_split", "split-KV combine", "Every KV split adds the sink, not only the first.",
        file="fa_tile.cu", old="    if (blockIdx.y == 0)\n      add_sink", new="    if (true)\n      add_sink", cases=SINK_TOKEN, says=Says.ERROR,
    ),
    fa_tile(
        "window_off_by_one", "window off by one", "The window lets one row more through.",
        file="scores.h", old="behind >= shape.window", new="behind > shape.window", cases=WINDOW, says=Says.ERROR,
    ),
    fa_tile(
        "causal_off_by_one", "mask off by one", "A query may look at the row after its own.",
        file="scores.h", old="(CAUSAL && behind < 0)", new="(CAUSAL && behind < -1)", cases=PROMPT, says=Says.ERROR,
    ),
    fa_tile(
        "kv_tail_visible", "off-by-one bound", "Rows beyond the last are zero, not hidden: each takes its share of the sum.",
        file="scores.h", old="if (row >= shape.n_kv || (CAUSAL", new="if ((CAUSAL", cases=UNALIGNED, says=Says.ERROR,
    ),
    fa_tile(
        "kv_tail_read", "off-by-one bound", "Rows of K and V beyond the last are read as they lie there, NaN included.",
        file="tiles.h", old="if (row < known)", new="if (row < known + KG_ROWS)", cases=UNALIGNED, says=Says.NAN,
    ),
    fa_tile(
        "masked_row", "NaN for a masked row", "The running maximum starts at -inf: a query that sees nothing computes inf - inf.",
        file="scores.h", old="#define LOWEST -1.0e38f", new="#define LOWEST kg_bits_float(0xff800000u)", cases=BLIND, says=Says.NAN,
    ),
    fa_tile(
        "masked_row_divides", "NaN for a masked row", "A query that sees nothing divides 0 by 0.",
        file="fa_tile.cu", old="run.sum[j] > 0.0f ? 1.0f / run.sum[j] : 0.0f", new="1.0f / run.sum[j]", cases=BLIND, says=Says.NAN,
    ),
    fa_tile(
        "tile_not_advanced", "pointer not advanced over skipped tiles", "Tiles before the window are skipped, but V's pointer stays (llama.cpp PR 14916).",
        file="fa_tile.cu", old="walk_tile(place, k, v, mask,", new="walk_tile(place, k, v - int64_t(range.first) * KG_ROWS * v_row, mask,",
        cases=WINDOW, says=Says.ERROR,
    ),
    fa_tile(
        "tile_lost", "unwritten tail", "The last tile of queries has no block (aotriton PR 181: tiles left unwritten).",
        file="plan.py", old="query_tiles = ceil(lay.n_q / tokens)", new="query_tiles = max(1, lay.n_q // tokens)", cases=BUFFER, says=Says.UNWRITTEN,
    ),
    fa_tile(
        "last_token", "unwritten tail", "The last token of a tail is not stored.",
        file="fa_tile.cu", old="if (token >= n_q || place.part > 0)", new="if (token >= n_q - (n_q > 1) || place.part > 0)", cases=BUFFER, says=Says.UNWRITTEN,
    ),
    fa_tile(
        "token_bound", "off-by-one bound", "A token that does not exist is stored: behind O's end.",
        file="fa_tile.cu", old="if (token >= n_q || place.part > 0)", new="if (token > n_q || place.part > 0)", cases=BUFFER, says=Says.OUTSIDE,
    ),
    fa_tile(
        "head_mapping", "wrong head mapping", "Query heads take KV heads in turn, not group by group.",
        file="fa_tile.cu", old="const int kv_head = outer / groups % kv_heads, first_head = kv_head * ratio",
        new="const int kv_head = outer / groups % kv_heads, first_head = (kv_heads - 1 - kv_head) * ratio", cases=TOKEN, says=Says.ERROR,
    ),
    fa_tile(
        "v_stride", "wrong stride", "V is walked with K's row stride, which differs where their head dims do.",
        file="fa_tile.cu", old="stage<KG_DV, KG_DV>(v + (first_row + at) * shape.v_row, shape.v_row,",
        new="stage<KG_DV, KG_DV>(v + (first_row + at) * shape.v_row, shape.v_row - KG_D + KG_DV,", cases=FUSED, says=Says.NAN,
    ),
    fa_tile(
        "softcap_ignored", "option ignored", "Scores are not capped.",
        file="scores.h", old="kg_fma(shape.cap, kg_tanh(product * shape.scale), added)", new="kg_fma(shape.cap, product * shape.scale, added)",
        cases=RAGGED, says=Says.ERROR,
    ),
    fa_tile(
        "alibi_second_series", "option ignored", "Heads beyond the power of two get slopes of the first series.",
        file="scores.h", old="head < shape.slopes ? 2 * (head + 1) : 2 * (head - shape.slopes) + 1", new="2 * (head + 1)", cases=RAGGED, says=Says.ERROR,
    ),
    fa_tile(
        "half_scores", "fp16 overflow", "Products of K and Q are summed in fp16 (llama.cpp PR 17875).",
        file="tiles.h", old="return kg_dot2(a, b, sum); }", new="return kg_to_float(kg_to_half(kg_dot2(a, b, sum))); }",
        cases=LARGE_KQ, says=Says.NAN,
    ),
    fa_tile(
        "half_values", "fp16 overflow", "The accumulators of V are fp16, without the offset that keeps them small (llama.cpp issues 17610 and 18606).",
        file="fa_tile.cu", old="    sum.y = kg_dot2(p.part[i], kg_make_half2(upper.y, lower.y), sum.y);",
        new="    sum.y = kg_to_float(kg_to_half(kg_dot2(p.part[i], kg_make_half2(upper.y, lower.y), sum.y)));", cases=LARGE_V, says=Says.INFINITE,
    ),
    fa_tile(
        "half_tiles", "lower precision inside", "fp32 was asked for, fp16 is what tiles hold (ggml PR 1536: corrupt images).",
        file="tiles.h", old="as_tile(float value) { return value; }", new="as_tile(float value) { return kg_to_float(kg_to_half(value)); }",
        cases=BUFFER, says=Says.ERROR,
    ),
    fa_tile(
        "part_lost", "partial results lost", "Of the warps that share a column the last one's part is not merged.",
        file="fa_tile.cu", old="place.part == 0 && other < PARTS; ++other", new="place.part == 0 && other < PARTS - 1; ++other", cases=SINGLE, says=Says.ERROR,
    ),
    fa_tile(
        "not_rescaled", "stale state between tiles", "The sum before a tile is not brought to the new maximum.",
        file="scores.h", old="    rescale(run, j, kg_exp2(run.largest[j] - largest));\n    run.largest[j] = largest;\n#pragma unroll",
        new="    run.largest[j] = largest;\n#pragma unroll", cases=TOKEN, says=Says.ERROR,
    ),
    fa_tile(
        "combine_unweighted", "split-KV combine", "Splits are added without the weight of their maximum.",
        file="combine.cu", old="value = kg_fma(parts[from * dv + at], kg_exp2(stats[2 * from] - largest), value);",
        new="value = kg_fma(parts[from * dv + at], 1.0f, value);", cases=SINGLE, says=Says.ERROR,
    ),
    fa_tile(
        "combine_first_split", "split-KV combine", "Splits write their statistics where the first does.",
        file="fa_tile.cu", old="stats[2 * at] = run.largest[j], stats[2 * at + 1] = run.sum[j];",
        new="stats[2 * query] = run.largest[j], stats[2 * query + 1] = run.sum[j];", cases=SINGLE, says=Says.ERROR,
    ),
    fa_tile(
        "last_pair", "off-by-one bound", "Lanes without a pair of output columns store one all the same: into the next head.",
        file="tiles.h", old="return HALF_DV % KG_WARP == 0 || pair(i) < HALF_DV;", new="return true;", cases=RAGGED, says=Says.OUTSIDE,
    ),
    fa_tile(
        "alignment_assumed", "misaligned 16-byte load", "The plan promises aligned rows without looking at them (llama.cpp asks for strides of 16 bytes first).",
        file="plan.py", old="return all(place * width % device[\"copy_bytes\"] == 0 for place in places)", new="return True",
        cases=UNALIGNED, says=Says.RACE, how=How.RACES,
    ),
    fa_tile(
        "shared_row", "shared memory over the limit", "A tuning row whose tile no block can hold (llama.cpp issue 22491).",
        file="tiles.h", old="tile_t p[KG_COLS][KG_ROWS];", new="tile_t p[8 * KG_COLS][8 * KG_ROWS];", cases=PROMPT, says=Says.TOO_MUCH,
    ),
    fa_tile(
        "no_resident_block", "too few blocks", "The occupancy of a unit comes out as 0 (llama.cpp PR 16643: a division by it, then an assertion).",
        file="plan.py", old="splits = ceil(tiles / per_split)", new="splits = ceil(tiles / per_split) - 1", cases=TOKEN, says=Says.REFUSED,
    ),
    fa_tile(
        "too_few_splits", "too few blocks", "One split less than the tiles of a block need: nobody walks the last.",
        file="plan.py", old="splits = ceil(tiles / per_split)", new="splits = max(1, ceil(tiles / per_split) - 1)", cases=SINGLE, says=Says.ERROR,
    ),
)  # fmt: skip
