"""Nodes and their keys. A key is shown once when it is made; only its hash is kept."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from bot.adapters.store.base import Part
from bot.adapters.store.queueing import hasten_cards, run_changed
from bot.adapters.store.tables import AttemptRow, JobRow, NodeRow, RunRow
from bot.core.nodes import DeviceWord, Node, NodeState
from bot.core.records import AttemptState, JobStatus

FORGET_DEVICE = 24 * 3600.0


class NodeError(ValueError):
    """No such node, or the name is taken."""


class Nodes(Part):
    def add(self, name: str, pool: str, repositories: Sequence[str]) -> str:
        """Make a node; its key, which is not to be had again."""
        key = f"kgn_{secrets.token_urlsafe(32)}"
        with self.db.write() as session:
            if session.scalar(select(NodeRow.id).where(NodeRow.name == name)) is not None:
                raise NodeError(f"a node is called {name!r} already; names are never used again, so that old results keep their owner")
            row = NodeRow(name=name, pool=pool, repositories=list(repositories), key_hash=_hash(key), created=self.now())
            session.add(row)
        return key

    def revoke(self, name: str, since: float | None) -> None:
        """Refuse a node's key from now on and, if `since` is given, distrust its results from then."""
        with self.db.write() as session:
            row = session.scalar(select(NodeRow).where(NodeRow.name == name))
            if row is None:
                raise NodeError(f"no node is called {name!r}")
            row.revoked = row.revoked or self.now()
            row.distrusted_since = since if since is not None else row.distrusted_since

    def all(self) -> list[Node]:
        with self.db.read() as session:
            return nodes_of(session, self.now())

    def by_key(self, key: str) -> Node | None:
        """The node with this key, unless it was revoked."""
        query = select(NodeRow).where(NodeRow.key_hash == _hash(key), NodeRow.revoked.is_(None))
        with self.db.read() as session:
            row = session.scalar(query)
            return _node(row, working=False) if row else None

    def seen(self, node: int, said: Mapping[str, Any], outdated: bool, rests: str = "", seconds: float = 0.0) -> None:
        """A node asked for work, or said why one of its devices `rests` for so many seconds."""
        now = self.now()
        with self.db.write() as session:
            row = session.get_one(NodeRow, node, with_for_update=True)
            words = {name: word for name, word in row.facts.get("devices", {}).items() if word["seen"] > now - FORGET_DEVICE}
            words[_device(said)] = {"said": dict(said), "seen": now, "rests": rests, "until": now + seconds if rests else 0.0}
            row.seen, row.outdated, row.facts = now, outdated, {**row.facts, "devices": words}

    def notice(self) -> None:
        """Pull requests whose jobs wait hear of nodes that came, fell silent, rest, rest no longer, or are too old."""
        now = self.now()
        if not (changed := {node.id: _told(node, now) for node in self.all() if node.told != _told(node, now)}):
            return
        with self.db.write() as session:
            for id, told in changed.items():
                row = session.get_one(NodeRow, id, with_for_update=True)
                row.facts = {**row.facts, "told": told}
                _tell_those_who_wait(session, row.pool, at_once=told.startswith(NodeState.SILENT))

    def pools(self, repository: str) -> tuple[str, ...]:
        """The pools with a node that serves this repository."""
        return tuple(sorted({node.pool for node in self.all() if node.revoked is None and node.serves(repository)}))


def _tell_those_who_wait(session: Session, pool: str, at_once: bool) -> None:
    """Why their jobs wait is another reason now; `at_once` where a minute has nearly passed until that was known."""
    waiting = select(JobRow.run_id).where(JobRow.pool == pool, JobRow.state == JobStatus.QUEUED)
    for run in session.scalars(select(RunRow).where(RunRow.id.in_(waiting))):
        run_changed(session, run)
        if at_once:
            hasten_cards(session, run)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _device(said: Mapping[str, Any]) -> str:
    """Which of a node's processes speaks: each has its own device."""
    named = said.get("devices")
    return ",".join(map(str, named[:8]))[:100] if isinstance(named, list) else ""


def _told(node: Node, now: float) -> str:
    """What a waiting pull request is told of a node: whether it works or could makes no difference there."""
    state = node.state(now)
    return f"{NodeState.READY if state is NodeState.WORKING else state}: {node.rests(now) if state is NodeState.RESTING else ''}"


def nodes_of(session: Session, now: float, pool: str | None = None) -> list[Node]:
    """Every node, or those of one pool, by name."""
    busy = set(session.scalars(select(AttemptRow.node_id).where(AttemptRow.state == AttemptState.CURRENT, AttemptRow.lease >= now)))
    query = select(NodeRow).order_by(NodeRow.name)
    rows = session.scalars(query if pool is None else query.where(NodeRow.pool == pool))
    return [_node(row, row.id in busy) for row in rows]


def _node(row: NodeRow, working: bool) -> Node:
    words = {name: DeviceWord(**word) for name, word in row.facts.get("devices", {}).items()}
    key = (row.id, row.name, row.pool, tuple(row.repositories))
    return Node(*key, row.seen, row.revoked, row.outdated, words, working, row.facts.get("told", ""))
