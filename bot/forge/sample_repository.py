"""Builds `kernelgate/sample` and a stranger's fork: ordinary commits to the suite's own sources, in real git."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import kernels
from bot.forge import git

SUITE = Path(kernels.__file__).parent
SAMPLES = Path(__file__).with_name("samples")
KERNELS = ("fa_tile", "gemm", "la_prefill")
OWNER, NAME, STRANGER = "kernelgate", "sample", "sam"
ROLES = {"mira": "admin", "noor": "write"}
DATE = "2026-01-05T09:00:00Z"  # fixed, so that the same suite gives the same SHAs


@dataclass(frozen=True)
class SamplePull:
    """One sample pull; `head` is a branch, or OWNER:BRANCH of the fork."""

    number: int
    title: str
    body: str
    author: str
    head: str
    base: str = "main"

    @property
    def branch(self) -> str:
        return self.head.rpartition(":")[2]


PULLS = (
    SamplePull(1, "gemm: 2D tiling", "BM×BN×BK tiles in shared memory, each thread a 1×BN row.", "noor", "gemm-2d-tiling"),
    SamplePull(
        2, "la_prefill: padded Q/K tiles, dk-split", "Caches K·K and Q·K per chunk; dk_split is tunable.", "noor", "la-prefill-tiles"
    ),
    SamplePull(3, "fa_tile: lose a barrier", "One barrier of the tile loop looked superfluous.", "noor", "fa-tile-barrier"),
    SamplePull(4, "gemm: slower tiles", "Another tile choice.", "noor", "gemm-other-tiles", base="tiled"),
    SamplePull(5, "docs only", "Says how the folders are laid out.", "noor", "docs"),
    SamplePull(6, "a stranger's fork: gemm 2D tiling", "The same tiling, from outside.", STRANGER, f"{STRANGER}:tiling"),
)


class Builder:
    """A working tree that becomes two bare repositories: the sample and the fork."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self._git("init", "--quiet", "-b", "main")

    def _git(self, *args: str, author: str = "mira") -> None:
        name, email = author, f"{author}@forge.invalid"
        people = {
            f"GIT_{role}_{key}": value
            for role in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", name), ("EMAIL", email), ("DATE", DATE))
        }
        git.git(self.work, *args, env=people)

    def commit(self, message: str, author: str) -> None:
        self._git("add", "--all")
        self._git("commit", "--quiet", "-m", message, author=author)

    def branch(self, name: str, start: str = "main") -> None:
        self._git("checkout", "--quiet", "-b", name, start)

    def suite(self, kernel: str) -> None:
        """The suite's own folder of a kernel, whole, in place of what stands there; fewer cases where `main` knows fewer."""
        target, narrowed = self.work / "kernels" / kernel, SAMPLES / "narrowed" / kernel
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(SUITE / kernel, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        if narrowed.is_dir():
            (target / "cases.py").rename(target / "every_case.py")
            shutil.copy(narrowed / "cases.py", target)

    def patch(self, name: str) -> None:
        self._git("apply", "--index", str(SAMPLES / name))

    def main(self) -> None:
        """The suite with the overlays of `samples/main` put over it: where the pulls start."""
        for kernel in KERNELS:
            self.suite(kernel)
        shutil.copytree(SAMPLES / "main", self.work / "kernels", dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(SAMPLES / "top" / "kernelgate.toml", self.work / ".kernelgate.toml")
        shutil.copy(SAMPLES / "top" / "README.md", self.work)
        self.commit("Three kernels and their gate", "mira")

    def pulls(self) -> None:
        """One branch per pull, one commit each; `tiled` is main with the 2D tiling in it."""
        one, two, three, four, five, six = PULLS
        message = "gemm: tiles in shared memory, a row of outputs per thread"
        for name, author, words in (
            ("tiled", "mira", f"{message} (#1)"),
            (one.branch, one.author, message),
            (six.branch, six.author, message),
        ):
            self.branch(name)
            self.suite("gemm")
            self.commit(words, author)
        self.branch(two.branch)
        self.suite("la_prefill")
        self.commit("la_prefill: pad the Q and K tiles, split dk", two.author)
        self.branch(three.branch)
        self.patch("lose-barrier.patch")
        self.commit("fa_tile: one barrier less", three.author)
        self.branch(four.branch, "tiled")
        self.patch("slower-tiles.patch")
        self.commit("gemm: other tiles", four.author)
        self.branch(five.branch)
        readme = self.work / "README.md"
        readme.write_text(readme.read_text(encoding="utf-8") + (SAMPLES / "top" / "more.md").read_text(encoding="utf-8"), encoding="utf-8")
        self.commit("README: the layout of a kernel's folder", five.author)

    def publish(self, target: Path, *branches: str) -> None:
        """A bare repository with these branches."""
        target.mkdir(parents=True)
        git.git(target, "init", "--quiet", "--bare", "-b", "main")
        self._git("push", "--quiet", str(target), *branches)


def build(folder: Path) -> list[dict[str, object]]:
    """The sample and its fork as bare repositories below `folder`, as entries of a world's JSON."""
    sample, fork = folder / f"{OWNER}-{NAME}.git", folder / f"{STRANGER}-{NAME}.git"
    with tempfile.TemporaryDirectory(prefix="kernelgate-sample-") as work:
        builder = Builder(Path(work))
        builder.main()
        builder.pulls()
        own = [pull.branch for pull in PULLS if ":" not in pull.head]
        builder.publish(sample, "main", "tiled", *own)
        builder.publish(fork, "main", PULLS[5].branch)
    return [
        {"owner": OWNER, "name": NAME, "path": str(sample), "roles": ROLES, "description": "Three kernels under kernelgate's gate"},
        {"owner": STRANGER, "name": NAME, "path": str(fork), "roles": {}, "fork_of": f"{OWNER}/{NAME}"},
    ]
