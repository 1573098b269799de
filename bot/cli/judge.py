"""`kernelgate judge`: raw samples of base and head to a verdict, one a file."""

from __future__ import annotations

import json
import lzma
import struct
import sys
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np

from bot.cli.out_file import DASH, OutFile, deliver
from bot.core.enums import CaseVerdict
from bot.core.samples import Judged, SamplesError, judge_samples
from runners.sampling import Rules

MOST_BYTES = 1 << 30
MOST_TEXT = 1 << 28  # of JSON, which takes several times as much memory
EXITS = {CaseVerdict.SLOWER: 1, CaseVerdict.INCONCLUSIVE: 3}
WORST = (2, 1, 3, 0)
# What zipfile, its decompressors and NumPy's header reader raise at flipped bytes; RuntimeError is an archive that says it is encrypted.
DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, ArithmeticError, EOFError, MemoryError, OSError,
    RuntimeError, ValueError,
)  # fmt: skip
NAMES = frozenset({"quads", "order", "pairs", "first"})


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "--floor",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="smallest slow-down that counts",
)
@click.option("--json", "json_file", type=OutFile(), help="write the verdicts here ('-': stdout)")
def judge(files: tuple[Path, ...], floor: float, json_file: Path | None) -> None:
    """Say whether head is slower than base by the times in each FILE (JSON or NPZ).

    A file holds `quads` with their `order`, or `pairs` with their `first`. What it has is judged as it is: no further
    sessions confirm a slow-down.

    Exit: 0 none slower, 1 slower, 3 undecided, 2 not readable.
    """
    entries = [_entry(file, floor) for file in files]
    if json_file:
        text = json.dumps([entry for entry, _ in entries], indent=1) + "\n"
        deliver(json_file, text.encode())
    for entry, _ in entries:
        click.echo(_line(entry), err=json_file == DASH)
    sys.exit(min((code for _, code in entries), key=WORST.index))


def _entry(file: Path, floor: float) -> tuple[dict[str, Any], int]:
    try:
        judged = judge_samples(_load(file), Rules(floor=floor))
    except SamplesError as error:
        judged = None
        reason = str(error)
    if judged is None:
        blank = {"speedup": None, "interval": None, "sessions": 0, "quads": 0}
        return {"file": str(file), "verdict": "error", **blank, "reason": reason}, 2
    return {"file": str(file), **_fields(judged)}, EXITS.get(judged.verdict, 0)


def _fields(judged: Judged) -> dict[str, Any]:
    estimate = judged.estimate
    return {
        "verdict": judged.verdict.value,
        "speedup": estimate.speedup if estimate else None,
        "interval": [estimate.lo, estimate.hi] if estimate else None,
        "sessions": judged.sessions,
        "quads": judged.quads,
        "reason": judged.reason,
    }


def _line(entry: Mapping[str, Any]) -> str:
    numbers = f" {entry['speedup']:.4f}x [{entry['interval'][0]:.4f}, {entry['interval'][1]:.4f}]" if entry["speedup"] else ""
    counts = f" {entry['sessions']} sessions, {entry['quads']} quads" if entry["quads"] else ""
    return f"{entry['file']}: {entry['verdict']}{numbers}{counts}" + (f" ({entry['reason']})" if entry["reason"] else "")


def _load(file: Path) -> Mapping[str, Any]:
    """The file's samples; SamplesError where it is missing, too large, or neither JSON nor NPZ."""
    try:
        if zipfile.is_zipfile(file):
            return _npz(file)
        if file.stat().st_size > MOST_TEXT:
            raise SamplesError("JSON larger than 256 MiB: save it as NPZ")
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise SamplesError(error.strerror or "not readable") from error
    except SamplesError:
        raise
    except (ValueError, RecursionError) as error:
        raise SamplesError("neither JSON nor NPZ") from error
    if not isinstance(data, dict):
        raise SamplesError("the JSON is not an object with 'quads' or 'pairs'")
    return data


def _npz(file: Path) -> Mapping[str, Any]:
    """Its arrays; those of other names are not read."""
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(info.file_size for info in archive.infolist()) > MOST_BYTES:
                raise SamplesError("larger than 1 GiB unpacked")
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] if name in NAMES else None for name in arrays.files}
    except SamplesError:
        raise
    except DAMAGED as error:
        raise SamplesError("a damaged NPZ, or one that holds Python objects") from error
