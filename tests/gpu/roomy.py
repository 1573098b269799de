"""DEVICE CODE: launches a kernel whose local memory does not fit beside what is taken already, and says what becomes of it."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from runners.device import BoundLaunch, LaunchError, open_device

card = open_device(sys.argv[1])
at = card.allocate(4096)
card.allocate(int(0.9 * card.memory_bytes))
args = (struct.pack("<Q", at), struct.pack("<i", 1))
try:
    card.run([BoundLaunch(card.load(Path(sys.argv[2])), "roomy", (1, 1, 1), (64, 1, 1), 0, args)])
    print("it ran")
except LaunchError as error:
    print(f"{error.told_as}: {error}")
