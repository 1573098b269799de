"""What a node is up to, from when it was last heard of and what it said of its devices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

SILENT_AFTER = 45.0  # seconds; a node asks for work every 15


class NodeState(StrEnum):
    READY = "ready"
    WORKING = "working"
    RESTING = "resting"
    SILENT = "silent"
    OUTDATED = "too old"
    REVOKED = "revoked"


@dataclass(frozen=True)
class DeviceWord:
    """The last word of one device's process: `rests` says why it takes nothing until `until`."""

    said: Mapping[str, Any]
    seen: float
    rests: str = ""
    until: float = 0.0


@dataclass(frozen=True)
class Node:
    """A key and the machine behind it; `told` is the state that pull requests were last told."""

    id: int
    name: str
    pool: str
    repositories: tuple[str, ...]
    seen: float | None
    revoked: float | None
    outdated: bool
    devices: Mapping[str, DeviceWord] = field(default_factory=dict)
    working: bool = False
    told: str = ""

    def state(self, now: float) -> NodeState:
        """A node with several devices rests when all do that were heard of lately."""
        if self.revoked is not None:
            return NodeState.REVOKED
        if self.outdated:
            return NodeState.OUTDATED
        if self.working:
            return NodeState.WORKING
        if self.seen is None or self.seen < now - SILENT_AFTER:
            return NodeState.SILENT
        words = self._lately(now)
        return NodeState.RESTING if words and all(word.until > now for word in words) else NodeState.READY

    def serves(self, repository: str) -> bool:
        return repository.lower() in {name.lower() for name in self.repositories}

    def rests(self, now: float) -> str:
        """Why its devices rest, each reason once; empty where none does."""
        return "; ".join(dict.fromkeys(word.rests for word in self._lately(now) if word.until > now))

    def _lately(self, now: float) -> list[DeviceWord]:
        return [word for word in self.devices.values() if word.seen >= now - SILENT_AFTER]


@dataclass(frozen=True)
class PoolState:
    """How many nodes can take a job, how many are too old to, and why one of those left rests."""

    live: int = 0
    old: int = 0
    rests: str = ""


def pool_state(nodes: Sequence[Node], now: float) -> PoolState:
    """The state of these nodes, which are those that may take one job."""
    states = [node.state(now) for node in nodes]
    live = sum(state in (NodeState.READY, NodeState.WORKING) for state in states)
    resting = (node.rests(now) for node, state in zip(nodes, states, strict=True) if state is NodeState.RESTING)
    return PoolState(live, states.count(NodeState.OUTDATED), next(resting, ""))
