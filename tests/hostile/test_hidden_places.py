"""Memory that is no process's own, and sockets that no network namespace divides: refused, as only a control group would count the one
and nothing keeps the other in."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from pathlib import Path

import pytest

from runners import sandbox, seccomp

pytestmark = pytest.mark.skipif(not seccomp.program(), reason="no libseccomp on this machine")
CARD = [Path("/dev/null")]  # any device node makes a sandbox one that sees a card
AF_VSOCK = 40
LIBC = "import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
FAILED = "raise SystemExit('refused' if made < 0 and ctypes.get_errno() == 1 else 'made')"


def said(code: str, devices: Sequence[Path] = ()) -> bytes:
    argv, mounts = sandbox.python()
    return sandbox.run([*argv, "-c", code], read=mounts, devices=devices).stderr


@pytest.mark.parametrize("make", ["shmget(0, 1 << 26, 0o1600)", "msgget(0, 0o1600)", "memfd_create(b'x', 0)"])
def test_memory_of_nobody_is_not_to_be_had(make: str) -> None:
    assert b"refused" in said(f"{LIBC}made = libc.{make}\n{FAILED}")


@pytest.mark.parametrize("make", ["socket.socketpair()", "socket.socket(socket.AF_UNIX)", "socket.socket(socket.AF_INET)"])
def test_nor_is_a_socket(make: str) -> None:
    assert b"PermissionError" in said(f"import socket; {make}")


@pytest.mark.parametrize("family", [AF_VSOCK, 38, 4])
def test_with_a_card_only_sockets_that_stay_inside(family: int) -> None:
    assert said("import socket; socket.socketpair(); socket.socket(socket.AF_INET)", CARD) == b""
    code = f"{LIBC}made = libc.socket({family}, 1, 0)\nraise SystemExit(f'{{made}} {{ctypes.get_errno()}}')"
    assert f"-1 {errno.EAFNOSUPPORT}".encode() in said(code, CARD)
