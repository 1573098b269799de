"""In the sandbox: opens the device, says what it is and, given our own kernel, what that makes of a known question."""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path
from typing import Any

from kernels.spec import plain
from runners.children.channel import Channel
from runners.device import Backend, BoundLaunch, open_device

WORDS, BLOCK = 16384, 64


def main() -> None:
    channel = Channel()
    backend = open_device(channel.request["device"])
    found = {"device": plain(backend.device), "backend": backend.backend, "driver": backend.driver, **_memory(backend)}
    if known := channel.request.get("known"):
        found["known"] = _answer(backend, Path(known))
    channel.say(**found)


def _memory(backend: Backend) -> dict[str, Any]:
    """Bytes it has, and whether kernels reach the host's pageable memory; where both are one memory nothing can be done about that."""
    runtime: Any = getattr(backend, "runtime", None)
    if runtime is None:
        return {"memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}
    properties = runtime.getDeviceProperties(runtime.getDevice())
    pageable = bool(properties.get("pageableMemoryAccess")) and not properties.get("integrated")
    return {"memory_bytes": int(properties["totalGlobalMem"]), "pageable": pageable}


def _answer(backend: Backend, code: Path) -> str:
    """SHA-256 of what the kernel wrote."""
    address = backend.allocate(4 * WORDS)
    backend.upload(address, bytes(4 * WORDS))
    args = (struct.pack("<Q", address), struct.pack("<i", WORDS))
    backend.run([BoundLaunch(backend.load(code), "known", (WORDS // BLOCK, 1, 1), (BLOCK, 1, 1), 0, args)])
    return hashlib.sha256(backend.download(address, 4 * WORDS)).hexdigest()


if __name__ == "__main__":
    main()
