"""git with nothing switched on that runs a program or reads a file of the repository's choosing."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.symlinks": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "fetch.fsckObjects": "true",
    "fetch.unpackLimit": "1",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "protocol.file.allow": "always",
    "protocol.http.allow": "always",
    "protocol.https.allow": "always",
    "safe.bareRepository": "explicit",
    "safe.directory": "*",
    "transfer.fsckObjects": "true",
}
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LANG": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
}


class CheckoutError(RuntimeError):
    """The commit can't be had, or breaks a cap; the message says which."""


def command(repository: Path | None, words: Sequence[str]) -> list[str]:
    """The full command line of git `words` on the git directory `repository`."""
    settings = [word for name, value in SETTINGS.items() for word in ("-c", f"{name}={value}")]
    place = [] if repository is None else ["--git-dir", str(repository)]
    return ["git", *settings, *place, *words]


def output(repository: Path | None, words: Sequence[str], check: bool = True, seconds: float = 120) -> bytes:
    """What git prints; CheckoutError with its message when it fails and `check` is set."""
    line = command(repository, words)
    try:
        done = subprocess.run(line, env=ENVIRONMENT, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=seconds)
    except FileNotFoundError as error:
        raise CheckoutError("git is missing: apt-get install git") from error
    except subprocess.TimeoutExpired as error:
        raise CheckoutError(f"git {words[0]} took longer than {seconds:.0f} s") from error
    if check and done.returncode:
        raise CheckoutError(f"git {words[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
