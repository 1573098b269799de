"""Finds NVRTC and its headers: the pinned 12.9 wheel, a newer wheel, or an installed CUDA toolkit."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TOOLKITS = ("/usr/local/cuda", "/opt/cuda", "/usr/lib/cuda")
LAST_FOR_PASCAL = 12  # CUDA 13 dropped every target below sm_75


@dataclass(frozen=True)
class NvrtcFiles:
    """One NVRTC: its library, the folders of its headers, and its version."""

    library: Path
    headers: tuple[Path, ...]
    version: str

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])

    def serves(self, target: str) -> bool:
        digits = re.sub(r"\D", "", target)
        return int(digits or 0) >= 75 or self.major <= LAST_FOR_PASCAL


@cache
def installed() -> tuple[NvrtcFiles, ...]:
    """Every NVRTC of this machine, the pinned wheel first."""
    return (*_wheels(), *_toolkits())


def _wheels() -> Iterator[NvrtcFiles]:
    for distribution in ("nvidia-cuda-nvrtc-cu12", "nvidia-cuda-nvrtc"):
        try:
            version = importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
        for root in _nvidia_folders():
            libraries = sorted([*root.glob("cuda_nvrtc/lib/libnvrtc.so.12"), *root.glob("cu13/lib/libnvrtc.so.13")])
            headers = _with_cccl(root / "cuda_runtime/include") or _with_cccl(root / "cu13/include")
            yield from (NvrtcFiles(lib, headers, version) for lib in libraries if headers and lib.suffix == f".{version.split('.')[0]}")


def _nvidia_folders() -> list[Path]:
    found = importlib.util.find_spec("nvidia")
    return [Path(folder).resolve() for folder in (found.submodule_search_locations or [])] if found else []


def _toolkits() -> Iterator[NvrtcFiles]:
    for root in TOOLKITS:
        for name in ("lib64", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"):
            for library in sorted(Path(root, name).glob("libnvrtc.so.*.*.*")):
                headers = _with_cccl(Path(root, "include").resolve())
                if headers:
                    yield NvrtcFiles(library.resolve(), headers, library.name.removeprefix("libnvrtc.so."))


def _with_cccl(folder: Path) -> tuple[Path, ...]:
    """The folder with cuda_fp16.h and, from CUDA 13 on, the one of the C++ library it includes; empty without it."""
    if not (folder / "cuda_fp16.h").is_file():
        return ()
    return tuple(path for path in (folder, folder / "cccl") if path.is_dir())
