"""`python -m runners.emulator FILE.cu [-DNAME=VALUE …] [--block N]`: compile for the host and show what came out."""

from __future__ import annotations

import argparse
import sys

from runners.emulator import build_and_load
from runners.toolchains import CompileError, ToolchainMissing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m runners.emulator", description=__doc__)
    parser.add_argument("source")
    parser.add_argument("-D", dest="defines", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--block", type=int, default=256)
    given = parser.parse_args()
    defines: dict[str, int | float | str] = dict(text.partition("=")[::2] for text in given.defines)
    try:
        loaded = build_and_load(given.source, defines, given.block)
    except CompileError as error:
        print(error.log or error, file=sys.stderr)
        return 1
    except ToolchainMissing as error:
        print(error, file=sys.stderr)
        return 2
    for kernel in loaded.library.description.kernels:
        parameters = ", ".join(f"{'float' if p.is_float else 'integer or pointer'} of {p.bytes} bytes" for p in kernel.parameters)
        print(f"{kernel.name}({parameters}): {kernel.static_shared} bytes of static shared memory")
    return 0


if __name__ == "__main__":
    sys.exit(main())
