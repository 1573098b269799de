"""Runs and cards for golden files: one of each kind a person meets."""

from pydantic import TypeAdapter

from bot.core.card import Card, JobPhase, JobState, RunState
from bot.core.remarks import Kind, Remark
from bot.core.report import CaseReport, ControlReport, NodeReport, Run, SideTime, SideTimes, StaticReport, WaiverReport
from bot.core.verdict import CaseVerdict, RunVerdict
from runners.protocol import (
    Access,
    Accuracies,
    Accuracy,
    BuildRecord,
    Builds,
    Count,
    CountPair,
    Failure,
    FailureKind,
    KernelResources,
    Race,
    Side,
    SourceCounts,
)  # fmt: skip

HEAD, BASE = "b" * 40, "a" * 40


def accuracy(rel_l2: float = 3.1e-7, reason: str = "", nan: int = 0) -> Accuracy:
    return Accuracy(
        rel_l2=None if nan else rel_l2, nmse=rel_l2**2, max_abs=1e-5, cosine=1.0, nan=nan, inf=0, unwritten=0,
        limit=1.2e-6, ok=not reason, elements=65536, reason=reason,
    )  # fmt: skip


def resources(registers: int) -> Builds:
    def side(n: int) -> BuildRecord:
        kernel = KernelResources("gemm", registers=n, static_shared=8704, blocks_per_unit=7, waves_per_simd=14, code_bytes=4096)
        return BuildRecord(ok=True, hash="0" * 64, seconds=0.41, kernels=(kernel,))

    return Builds(base=side(32), head=side(registers))


def case(role: str, verdict: CaseVerdict, speedup: float | None = None, **more: object) -> CaseReport:
    times = SideTimes(SideTime(412.5), SideTime(412.5 / speedup)) if speedup else SideTimes()
    facts = {
        "accuracy": Accuracies(accuracy(), accuracy()),
        "time_us": times,
        "interval": (speedup * 0.98, speedup * 1.02) if speedup else None,
        "build": resources(64),
        "flops": 4.3e6,
        "shape": {"m": 32},
        "dtype": "f32",
    }
    return CaseReport(
        id=f"gemm/llama-1b/{role}/m32/f32", kernel="gemm", model="llama-1b", tunables={}, pool="host",
        verdict=verdict, speedup=speedup, sessions=2 if speedup else 0, quads=40 if speedup else 0, **(facts | more),
    )  # fmt: skip


def untouched(role: str) -> CaseReport:
    return case(role, CaseVerdict.IDENTICAL, build=Builds(), accuracy=Accuracies())


def run(verdict: RunVerdict, *cases: CaseReport, **more: object) -> Run:
    controls = (ControlReport("gemm/edge/tail/m33/f32", True, 1.004, (0.98, 1.03), 0.03, True),) if any(c.speedup for c in cases) else ()
    node = NodeReport("box", "host", "host (8 cores)", "host", "emulator", "", "g++ 12.2.0", "0.1.0", verdict, controls)
    facts = {"nodes": (node,), "reason": "", "gate": True} | more
    return Run(
        schema=1, verdict=verdict, repo="kernelgate/sample", base=BASE, head=HEAD, command="/run-test models=all",
        started="2026-11-29T20:00:00Z", seconds=21.4, cases=cases, **facts,
    )  # fmt: skip


SPILL = StaticReport(
    target="gfx906", kernel="gemm", row="bm64 bn32", toolchain="clang 22.1.8", registers=64, static_shared=8704, spill_bytes=48,
    blocks_per_unit=4, waves_per_simd=4, limiter="registers", change="spills 0 -> 48 bytes", bad=True,
)  # fmt: skip
LOST = Failure(FailureKind.INCORRECT, "relative L2 3.2 above 1.2e-06", Side.HEAD, file="kernels/fa_tile/fa_tile.cu", line=88)
SYNTAX = Failure(
    FailureKind.BUILD_FAILED, "gemm.cu:12: expected ';'", Side.HEAD, "gemm.cu:12: error: expected ';' <b>@mira</b> ```", "gemm.cu", 12
)


def count(line: int, access: Access, times: int, *figures: object) -> Count:
    return Count("kernels/gemm/gemm.cu", line, access, times, *figures)  # type: ignore[arg-type]


COLUMN = CountPair(
    count(40, Access.SHARED_LOAD, 1024, 0, 0, (31744,) * 3, (32,) * 3), count(42, Access.SHARED_LOAD, 1024, 0, 0, (0, 64, 0), (1, 2, 1))
)
ROWS = CountPair(count(30, Access.GLOBAL_LOAD, 64, 2048, 32), count(31, Access.GLOBAL_LOAD, 64, 256, 4))
ADDED = CountPair(head=count(50, Access.SHUFFLE, 320))
KEPT = CountPair(count(44, Access.BARRIER, 8), count(45, Access.BARRIER, 8))
COUNTED = {"source": TypeAdapter(SourceCounts).dump_python(SourceCounts("g++ 12.2.0", (COLUMN, ROWS, ADDED, KEPT)), mode="json")}

WAIVED = WaiverReport("gemm/llama-1b/ffn_down/m32/f32", "known | @mira", "noor", "2026-12-30T12:00:00+00:00", True,
                      ("gemm/llama-1b/ffn_down/m32/f32@host",))  # fmt: skip
LIFTED = WaiverReport("judge", "as agreed", "mira", "2026-12-30T12:00:00+00:00")

RUNS = {
    "faster": run(RunVerdict.PASS, case("ffn_down", CaseVerdict.FASTER, 1.86, counts=COUNTED), case("attn_q", CaseVerdict.SAME, 1.002)),
    "identical": run(RunVerdict.PASS, untouched("ffn_up"), untouched("ffn_down")),
    "regressed": run(
        RunVerdict.REGRESSED,
        case("ffn_down", CaseVerdict.SLOWER, 0.61),
        case("attn_q", CaseVerdict.INCONCLUSIVE, 0.97, reason="at most 5.2 % slower",
             discarded=2, disturbances=("throttled in the middle: software power cap",),
             remarks=(Remark(Kind.TWO_MODES, 0.14, {"sm_mhz": (1230.0, 1410.0)}),)),
        static=(SPILL,),
    ),
    "broken": run(
        RunVerdict.BROKEN,
        case("ffn_down", CaseVerdict.INCORRECT, accuracy=Accuracies(accuracy(), accuracy(3.2, "above the limit")), failures=(LOST,),
             races=(Race("kernels/fa_tile/fa_tile.cu", 88, "read races with the write at fa_tile.cu:95 | <img>"),)),
        case("ffn_up", CaseVerdict.BUILD_FAILED, accuracy=Accuracies(), failures=(SYNTAX,), reason="gemm.cu:12: expected ';'"),
        case("attn_q", CaseVerdict.FASTER, 1.31),
        case("attn_o", CaseVerdict.NOT_MEASURED, accuracy=Accuracies(), reason="beyond the budget"),
        case("attn_k", CaseVerdict.IDENTICAL, accuracy=Accuracies()),
    ),
    "judge": run(RunVerdict.JUDGE_CHANGED, case("ffn_down", CaseVerdict.SAME, 1.0), changed_judge=("kernels/gemm/reference.py",)),
    "waived": run(RunVerdict.PASS, case("ffn_down", CaseVerdict.SLOWER, 0.61), waived=WAIVED.covers, waivers=(WAIVED, LIFTED)),
    "infrastructure": run(RunVerdict.INFRASTRUCTURE, reason="the node lost its lease twice", nodes=()),
    "in-common": run(
        RunVerdict.BROKEN,
        *(case(f"tail{k}", CaseVerdict.INCORRECT, accuracy=Accuracies(accuracy(), accuracy(3.2, "above the limit")), shape={"m": m, "k": k})
          for m, k in ((32, 1021), (64, 130))),
        *(case(f"few{m}", CaseVerdict.SLOWER, 0.8, shape={"m": m, "k": 64}, dtype="`f16`") for m in (1, 16)),
        case("attn_q", CaseVerdict.SAME, 1.0, shape={"m": 512, "k": 64}, dtype="`f16`"),
        *(case(f"attn_k{m}", CaseVerdict.SAME, 1.0, shape={"m": m, "k": 64}) for m in (4, 16)),
    ),
    "accuracy-only": run(RunVerdict.PASS, case("ffn_down", CaseVerdict.CORRECT), gate=False),
}  # fmt: skip

RUNNING = RunState(
    "7", "/run-test models=all", HEAD, "mira",
    (JobState("host", JobPhase.RUNNING, "timing", done=3, total=20), JobState("mi50", JobPhase.WAITING, place=2, reason="no live node")),
    gate=True,
)  # fmt: skip
ENDED = RunState("6", "/run-test models=all", "c" * 40, "mira", (), RunVerdict.REGRESSED, url="https://gate.example/runs/6")
WAITING = {
    "first": Card("kernelgate/sample", 1, HEAD, welcome=True),
    "stranger": Card("kernelgate/sample", 6, HEAD, awaiting=HEAD),
    "running": Card("kernelgate/sample", 1, HEAD, (RUNNING, ENDED), updated="2026-11-29T20:00:00Z"),
    "not-adopted": Card("kernelgate/sample", 1, HEAD, adopted=False),
    "config": Card("kernelgate/sample", 1, HEAD, config_error="line 3: unknown key 'flor'"),
    "trouble": Card("kernelgate/sample", 1, HEAD, trouble="ask-12"),
}
