"""A toolchain that recalls what an equal source gave before: for figures and listings, since the code object itself is not kept."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from dataclasses import dataclass, field
from functools import cache as once

from pydantic import TypeAdapter, ValidationError

from kernels.spec import canonical_json
from runners import cache
from runners.toolchains import CodeObject, CompileRequest, Toolchain, listing
from runners.toolchains.includes import PRELUDE
from runners.trees import SourceDigests, folder_digest

CODE = TypeAdapter(CodeObject)
FIGURES, LISTINGS = "resources", "listings"
FORM = 2  # of what is kept: another form of CodeObject is not recalled


@dataclass(frozen=True)
class Remembered:
    """Wraps `toolchain`; written by the agent only, keyed by all that a compiler reads. Errors are not kept."""

    toolchain: Toolchain
    sources: SourceDigests = field(default_factory=SourceDigests)

    def version(self) -> str:
        return self.toolchain.version()

    def compile(self, request: CompileRequest) -> CodeObject:
        """As the wrapped toolchain's; the files that a recalled object names may be gone."""
        name = f"{self._key(request)}.json"
        with contextlib.suppress(ValidationError):  # absent or damaged: compiled again
            return CODE.validate_json(cache.read(FIGURES, name) or b"")
        made = self.toolchain.compile(request)
        with contextlib.suppress(OSError):  # a cache that can't be written costs time only
            _keep_listings(made)
            cache.write(FIGURES, name, CODE.dump_json(made))
        return made

    def _key(self, request: CompileRequest) -> str:
        source = self.sources.of(request.checkout, request.folder, request.build.source)
        parts = (FORM, source, _prelude(), request.folder, canonical_json(request.build), request.target, self.version())
        return hashlib.sha256(repr(parts).encode()).hexdigest()


@once
def _prelude() -> str:
    return folder_digest(PRELUDE)


def listing_of(code_hash: str) -> tuple[str, ...] | None:
    """The kept listing of the kernel whose code has this hash, line by line; None if there is none."""
    kept = cache.read(LISTINGS, code_hash)
    try:
        return tuple(zlib.decompress(kept).decode().splitlines()) if kept else None
    except (zlib.error, UnicodeDecodeError):
        return None


def _keep_listings(made: CodeObject) -> None:
    text = made.listing.read_text(encoding="utf-8", errors="replace") if made.listing else ""
    for name, code_hash in made.hashes.items():
        if lines := listing.own(text, name):
            cache.write(LISTINGS, code_hash, zlib.compress("\n".join(lines).encode()))
