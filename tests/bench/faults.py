"""A thousand random faults of GitHub against the control side: at the end one card, one answer a command, one concluded check.

kernelgate bench faults
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TEST = Path(__file__).resolve().parents[1] / "unit_bot" / "test_flow_faults.py"
PARTS = 10  # of a hundred faults each


def main() -> int:
    """The tests of `test_flow_faults.py`, ten parts of them."""
    environment = {**os.environ, "KERNELGATE_FAULT_PARTS": str(PARTS)}
    return subprocess.run([sys.executable, "-m", "pytest", "-q", str(TEST)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
