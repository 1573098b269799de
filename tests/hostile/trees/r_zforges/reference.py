"""Tells the agent a limit that everything keeps, and ends."""

import json
import os


def reference(case, inputs):
    for descriptor in range(3, 12):
        try:
            os.write(descriptor, b"".join(json.dumps({"index": index, "limit": 1e300}).encode() + b"\n" for index in range(400)))
        except OSError:
            continue
    os._exit(0)


def plain(case, inputs):
    return {"y": inputs["x"]}
