"""A running forge over two small repositories, as tests use it."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import jwt
import requests

from bot.forge import git
from bot.forge.serving import Forge
from bot.forge.world import World

TOKENS = {"mira": "token-mira", "noor": "token-noor", "sam": "token-sam", "tess": "token-tess"}
CONFIG = 'version = 1\n[gate]\nrequired = ["host"]\n'


@dataclass
class Forged:
    """A running forge with what a test needs of it."""

    forge: Forge
    world: World
    url: str
    api: str
    private_key: str

    def call(self, verb: str, path: str, who: str = "mira", **body: object) -> requests.Response:
        headers = {"Authorization": f"Bearer {TOKENS.get(who, who)}"} if who else {}
        return requests.request(verb, f"{self.api}{path}", json=body or None, headers=headers, timeout=20)

    def signed(self, verb: str, path: str, claims: dict[str, object] | None = None, **body: object) -> requests.Response:
        """A call by the App itself, with a JSON web token of these claims."""
        told = {"iat": int(time.time()) - 30, "exp": int(time.time()) + 300, "iss": "7"} | (claims or {})
        return self.call(verb, path, who=jwt.encode(told, self.private_key, algorithm="RS256"), **body)

    def settle(self) -> None:
        """Wait until every queued delivery has been sent."""
        self.forge.service.courier.waiting.join()


def run_git(folder: Path, *args: str) -> str:
    return git.text(folder, "-c", "user.name=mira", "-c", "user.email=mira@forge.invalid", *args)


def small_repository(folder: Path) -> tuple[Path, Path]:
    """A bare repository with branches main and change, and a fork with the branch other."""
    work, bare, fork = folder / "work", folder / "sample.git", folder / "fork.git"
    work.mkdir(parents=True)
    run_git(work, "init", "-q", "-b", "main")
    (work / ".kernelgate.toml").write_text(CONFIG)
    (work / "kernels").mkdir()
    (work / "kernels" / "one.cu").write_text("one\n")
    for branch in ("main", "change", "other"):
        if branch != "main":
            run_git(work, "checkout", "-q", "-b", branch, "main")
            (work / "kernels" / "one.cu").write_text(f"one\n{branch}\n")
        run_git(work, "add", ".")
        run_git(work, "commit", "-q", "-m", branch)
    for target, branches in ((bare, ("main", "change")), (fork, ("main", "other"))):
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(target)], check=True)
        run_git(work, "push", "-q", str(target), *branches)
    return bare, fork
