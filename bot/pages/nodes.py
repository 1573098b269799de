"""The nodes page: every node with its devices, whether it takes jobs, and why not. It names no repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint

from bot.adapters import rendering
from bot.core.baselines import Barren
from bot.core.nodes import Node, NodeState


@dataclass(frozen=True)
class NodeRow:
    """One line: what its key is called, what it last said of itself, and its state with the reason."""

    name: str
    pool: str
    state: NodeState
    rests: str
    devices: tuple[str, ...]
    toolchains: tuple[str, ...]
    harness: str
    seen: str


def blueprint(
    nodes: Callable[[], Sequence[Node]], barren: Callable[[], Sequence[Barren]], clock: Callable[[], float], harness: str
) -> Blueprint:
    """`/nodes` lists the nodes whose keys are in use, after the pools that give cause for alarm; `harness` is the version that too old
    nodes are to have."""
    pages = Blueprint("nodes", __name__)

    @pages.get("/nodes")
    def every() -> str:
        now = clock()
        return rendering.nodes_page([_row(node, now) for node in nodes() if node.revoked is None], barren(), harness)

    return pages


def _row(node: Node, now: float) -> NodeRow:
    said = [word.said for word in node.devices.values()]
    seen = datetime.fromtimestamp(node.seen, UTC).isoformat(timespec="seconds") if node.seen else "never"
    toolchains = tuple(dict.fromkeys(str(name) for one in said for name in _list(one, "toolchains")))
    harness = ", ".join(dict.fromkeys(str(one.get("harness", "")) for one in said))
    return NodeRow(node.name, node.pool, node.state(now), node.rests(now), _devices(said), toolchains, harness, seen)


def _devices(said: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Each device by its name, with card, target, memory and driver where the node said them."""
    return tuple(_device(one) for one in said)


def _device(said: Mapping[str, Any]) -> str:
    card = said.get("card")
    facts = card if isinstance(card, dict) else {}
    memory = facts.get("memory_bytes")
    size = f"{memory / 2**30:.0f} GiB" if isinstance(memory, int | float) and memory > 0 else ""
    words = (", ".join(map(str, _list(said, "devices"))), facts.get("name"), facts.get("target"), size, facts.get("driver"))
    return ", ".join(str(word)[:80] for word in words if word)


def _list(said: Mapping[str, Any], key: str) -> list[Any]:
    value = said.get(key)
    return value[:8] if isinstance(value, list) else []
