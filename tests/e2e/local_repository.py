"""A real git repository of tiny kernels, and `kernelgate` started on it as a person would start it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from small_suite import FILES

KERNELGATE = Path(sys.executable).with_name("kernelgate")
AUTHOR = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"} | {
    f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


@dataclass(frozen=True)
class Ended:
    """What a command left: exit code, both streams, and its JSON (None where it wrote none)."""

    code: int
    stdout: str
    stderr: str
    run: Any

    @property
    def cases(self) -> dict[str, Any]:
        """The listed cases by kernel, the first of each; drawn shapes left out."""
        listed = [case for case in self.run["cases"] if "/drawn/" not in case["id"]]
        return {case["kernel"]: case for case in reversed(listed)}


@dataclass(frozen=True)
class Repository:
    """`main` holds the kernels; each head is a branch with one commit on top of it."""

    path: Path

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", "-C", self.path, *words], capture_output=True, text=True, check=True, env={**os.environ, **AUTHOR})
        return done.stdout.strip()

    def commit(self, branch: str, files: Mapping[str, str | None], links: Mapping[str, str] = {}) -> str:
        """A branch off `main` with these files written, removed (None) or made links; its name."""
        self.git("checkout", "-q", "-B", branch, "main")
        for name, text in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True) if text is None else file.write_text(text)
        for name, target in links.items():
            (self.path / name).symlink_to(target)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", branch)
        self.git("checkout", "-q", "main")
        return branch

    def changed(self, kernel: str, file: str, old: str, new: str) -> dict[str, str]:
        """One file of a kernel with `old` replaced, for `commit`."""
        path = f"kernels/{kernel}/{file.replace('scale', kernel)}"
        text = (self.path / path).read_text()
        assert old in text
        return {path: text.replace(old, new)}

    def run(self, base: str, head: str, *words: str, **env: str) -> Ended:
        """`kernelgate run` of this repository."""
        return self.start(base, head, *words, **env).end()

    def start(self, base: str, head: str, *words: str, **env: str) -> Running:
        return Running.of(["run", "--repo", str(self.path), "--base", base, "--head", head, *words], env)


@dataclass(frozen=True)
class Running:
    """A command under way."""

    process: subprocess.Popen[str]
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def of(cls, words: list[str], env: Mapping[str, str]) -> Running:
        folder = tempfile.TemporaryDirectory(prefix="kernelgate-e2e-")
        command = [KERNELGATE, *words, "--json", Path(folder.name, "run.json"), "--markdown", Path(folder.name, "run.md")]
        pipe = subprocess.PIPE
        return cls(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **env}), folder)

    def end(self) -> Ended:
        out, err = self.process.communicate(timeout=200)
        file, markdown = Path(self.folder.name, "run.json"), Path(self.folder.name, "run.md")
        if markdown.exists():
            assert out == markdown.read_text() + "\n"
        run = json.loads(file.read_bytes()) if file.exists() else None
        self.folder.cleanup()
        return Ended(self.process.returncode, out, err, run)


def repository(path: Path, *kernels: str) -> Repository:
    """A repository at `path` whose kernels all do the same."""
    made = Repository(path)
    path.mkdir()
    made.git("init", "-q", "-b", "main")
    for kernel in kernels:
        folder = path / "kernels" / kernel
        folder.mkdir(parents=True)
        for name, text in FILES.items():
            (folder / name.replace("scale", kernel)).write_text(text.replace("scale", kernel))
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "base")
    return made
