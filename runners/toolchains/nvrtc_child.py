"""Runs inside the sandbox: one NVRTC compilation by ctypes. Request as JSON on stdin, log on stdout, cubin and PTX in the named files.

Started by path with the standard library alone, since importing the package would cost more than compiling.
"""

from __future__ import annotations

import ctypes
import json
import sys
from pathlib import Path

REFUSED, BROKEN = 1, 3  # exit codes: the source does not compile; NVRTC itself failed
COMPILATION = 6  # NVRTC_ERROR_COMPILATION


class Nvrtc:
    """The few calls of libnvrtc that make a cubin."""

    def __init__(self, library: str) -> None:
        # a toolkit's NVRTC opens its builtins by name alone, and no search path leads here
        for builtins in sorted(Path(library).parent.glob("libnvrtc-builtins.so.*")):
            ctypes.CDLL(str(builtins))
        self.lib = ctypes.CDLL(library)
        self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def program(self, source: bytes, name: str) -> ctypes.c_void_p:
        program = ctypes.c_void_p()
        self.check(self.lib.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), 0, None, None))
        return program

    def compile(self, program: ctypes.c_void_p, options: list[str]) -> int:
        words = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        return int(self.lib.nvrtcCompileProgram(program, len(options), words))

    def text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self.check(getattr(self.lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.lib, f"nvrtcGet{what}")(program, buffer))
        return buffer.raw[: size.value]

    def check(self, code: int) -> None:
        if code:
            print(f"NVRTC: {self.lib.nvrtcGetErrorString(code).decode()}", file=sys.stderr)
            raise SystemExit(BROKEN)


def main() -> int:
    request = json.load(sys.stdin)
    try:
        nvrtc = Nvrtc(request["library"])
    except OSError as error:
        print(error, file=sys.stderr)
        return BROKEN
    program = nvrtc.program(Path(request["source"]).read_bytes(), request["source"])
    code = nvrtc.compile(program, request["options"])
    sys.stdout.buffer.write(nvrtc.text(program, "ProgramLog").rstrip(b"\0"))
    if code == COMPILATION:
        return REFUSED
    nvrtc.check(code)
    Path(request["out"]).write_bytes(nvrtc.text(program, "CUBIN"))
    Path(request["listing"]).write_bytes(nvrtc.text(program, "PTX").rstrip(b"\0"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
