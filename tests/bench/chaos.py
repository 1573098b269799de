"""Two hundred random kills of node, sandboxes, web process, control loop and broker (with and without its file), with a fixed seed.

kernelgate bench chaos [KILLS]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TEST = Path(__file__).resolve().parents[1] / "e2e" / "test_chaos.py"


def main() -> int:
    """The test of `test_chaos.py`, with more kills, the node's among them, and with commands in between."""
    kills = sys.argv[1] if len(sys.argv) > 1 else "200"
    environment = {**os.environ, "KERNELGATE_CHAOS_KILLS": kills}
    return subprocess.run([sys.executable, "-m", "pytest", "-n", "0", "-q", "-s", str(TEST)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
