"""What of the machine a job's device children see: the nodes of one card, the runtime's packages, and nothing else."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from runners import machine
from runners.child import Room

DEV = Path("/dev")
CUPY = ("cupy", "cupy_backends", "cupyx", "fastrlock", "cuda", "nvidia", "pynvml", "amdsmi")
LIBRARIES = ("/usr/local/nvidia/lib64", "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu")
CUDA_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps")


def room_for(device: str, stop: threading.Event) -> Room:
    """The room of `host`, `cuda:N` or `hip:N`; inside, one card's nodes are there, so that card is number 0."""
    kind, _, index = device.partition(":")
    if kind == "cuda":
        return Room(stop, _existing(f"nvidia{index}", *CUDA_NODES), _libraries(), CUPY, "cuda:0")
    if kind == "hip":
        environment = (*_libraries(), ("HSA_XNACK", "0"))  # no page faults: kernels reach what was allocated for them only
        return Room(stop, _existing("kfd", f"dri/renderD{machine.find(device).minor}"), environment, CUPY, "hip:0")
    return Room(stop, device=device)


def _existing(*names: str) -> tuple[Path, ...]:
    return tuple(DEV / name for name in names if (DEV / name).exists())


def _libraries() -> tuple[tuple[str, str], ...]:
    """Where the driver's libraries lie, as the sandbox has no loader cache; only what lies in /usr is there anyway."""
    given = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part.startswith("/usr/")]
    found = [part for part in LIBRARIES if Path(part).is_dir()]
    return (("LD_LIBRARY_PATH", ":".join(dict.fromkeys([*given, *found]))), ("CUPY_CACHE_DIR", "/tmp/cupy"))
