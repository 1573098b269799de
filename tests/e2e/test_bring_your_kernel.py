"""docs/bring-your-kernel.md followed to the letter: its files written into a fresh repository, its commands run there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.core.repo_config import read_config

PAGE = Path(__file__).resolve().parents[2] / "docs/bring-your-kernel.md"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXITS = re.compile(r"# exits (\d)")
CODE = (".cu", ".py")


def blocks() -> list[tuple[str, str, str]]:
    """Language, file name (empty for commands) and text of each code block, in the page's order."""
    return [(match[1], match[2], match[3]) for match in BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def run(line: str, repository: Path) -> str:
    """What a command of the page prints; it must exit as the page says."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "COLUMNS": "200", "GIT_CONFIG_GLOBAL": os.devnull}
    env |= {f"GIT_{role}_{key}": "reader@example.invalid" for role in ("AUTHOR", "COMMITTER") for key in ("NAME", "EMAIL")}
    done = subprocess.run(["bash", "-c", line], cwd=repository, env=env, capture_output=True, text=True, timeout=220, check=False)
    said = EXITS.search(line)
    assert done.returncode == int(said[1] if said else 0), f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.mark.timeout(400)
def test_the_page_does_what_it_says(tmp_path: Path) -> None:
    told = ""
    for language, name, text in blocks():
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        else:
            assert language == "sh"
            told += "".join(run(line, tmp_path) for line in text.splitlines())
    barrier = 1 + (tmp_path / "kernels/rms_norm/rms_norm.cu").read_text(encoding="utf-8").splitlines().index("    __syncthreads();")
    assert "correct" in told and "gfx1151" in told
    assert (
        told.count(f"rms_norm.cu:{barrier + 2}") > 2
    )  # by check for each case, and by run. The barrier's line is gone: the read that races is where it was, and a line
    assert read_config((tmp_path / ".kernelgate.toml").read_text(encoding="utf-8")).gate.required


def test_a_kernel_takes_less_than_a_hundred_lines() -> None:
    code = [text for _, name, text in blocks() if name.endswith(CODE)]
    lines = sum(len([line for line in text.splitlines() if line.strip()]) for text in code)
    said = re.search(r"(\d+) lines of code", PAGE.read_text(encoding="utf-8"))
    assert len(code) == 4 and said is not None and int(said[1]) == lines < 100
