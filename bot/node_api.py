"""What nodes may ask of the server (contracts §3): claim, beat, enumerate, results, done; every call by a node's own key."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from importlib.metadata import version
from json import dumps, loads
from typing import Any, TypeVar

from flask import Blueprint, Response, g, jsonify, request

from bot.adapters.store import Store
from bot.adapters.store.attempts import Claimed, NotCurrent
from bot.core.nodes import Node
from bot.flow.ports import GitHubError
from kernels.spec import canonical_json
from runners.protocol import PROTOCOL, Enumeration, Measurement, Outcome, ProtocolError, dump, load

MOST_PACKED = 8 * 1024 * 1024
MOST_UNPACKED = 64 * 1024 * 1024
SPOKEN = (PROTOCOL, PROTOCOL - 1)
GZIP = 31
LONGEST_REST = 3600
HARNESS = version("kernelgate")
log = logging.getLogger(__name__)
T = TypeVar("T")


class Unfit(Exception):
    """A call that no rightful node makes, with the status to answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def node_api(store: Store, fetch_token: Callable[[str], str], wake: Callable[[], object]) -> Blueprint:
    """The calls under /node/v1."""
    api = Blueprint("node_api", __name__, url_prefix="/node/v1")
    api.before_request(lambda: _authenticate(store))
    api.register_error_handler(Unfit, lambda error: (jsonify(error=str(error)), error.status))
    api.register_error_handler(NotCurrent, _not_current)

    @api.get("/self")
    def who() -> Response:
        """What the key is: a node needs no setting for it."""
        return jsonify(name=_node().name, pool=_node().pool, protocol=PROTOCOL, harness=HARNESS)

    @api.post("/rest")
    def rest() -> tuple[str, int]:
        """One of the node's devices takes nothing for a while, and why."""
        said = _json()
        seconds = said.get("seconds")
        if not isinstance(seconds, int | float) or not 0 <= seconds <= LONGEST_REST:
            raise Unfit(400, f"seconds is no number from 0 to {LONGEST_REST}")
        store.nodes.seen(_node().id, said, said.get("protocol") not in SPOKEN, str(said.get("reason") or "no reason given")[:300], seconds)
        return "", 204

    @api.post("/claim")
    def claim() -> Response | tuple[Response | str, int]:
        said, node = _json(), _node()
        if said.get("pool") != node.pool:
            raise Unfit(403, f"this key is of the pool {node.pool}")
        old = said.get("protocol") not in SPOKEN
        store.nodes.seen(node.id, said, outdated=old)
        if old:
            return jsonify(error=f"protocol {PROTOCOL} is spoken here: upgrade this node to kernelgate {HARNESS}", protocol=PROTOCOL), 426
        claimed = store.attempts.claim(node.id)
        if claimed is None:
            return "", 204
        wake()
        return _job(claimed, fetch_token)

    @api.post("/attempts/<attempt>/beat")
    def beat(attempt: str) -> Response:
        said = _json()
        telemetry = said.get("telemetry")
        facts = telemetry if isinstance(telemetry, dict) else {}
        return jsonify(cancel=store.attempts.beat(_node().id, attempt, str(said.get("phase", ""))[:40], facts))

    @api.put("/attempts/<attempt>/cases")
    def enumeration(attempt: str) -> tuple[str, int]:
        store.attempts.enumerate(_node().id, attempt, _value(Enumeration))
        return "", 204

    @api.put("/attempts/<attempt>/cases/<path:case>")
    def result(attempt: str, case: str) -> tuple[str, int]:
        found = _value(Measurement)
        if found.case.id != case:
            raise Unfit(400, f"the body is of the case {found.case.id}")
        packed = zlib.compress(dump(found), wbits=GZIP)
        store.attempts.result(_node().id, attempt, case, canonical_json(found.tunables), packed)
        return "", 204

    @api.post("/attempts/<attempt>/done")
    def done(attempt: str) -> tuple[str, int]:
        outcome = _json().get("outcome")
        store.attempts.done(_node().id, attempt, _read(Outcome, dumps(outcome)))
        wake()
        return "", 204

    return api


def _authenticate(store: Store) -> None:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    node = store.nodes.by_key(key.strip()) if scheme.lower() == "bearer" and key.strip() else None
    if node is None:
        raise Unfit(401, "no such node key, or it was revoked")
    if (request.content_length or 0) > MOST_PACKED:
        raise Unfit(413, "more than 8 MB")
    g.node = node


def _node() -> Node:
    node: Node = g.node
    return node


def _not_current(error: NotCurrent) -> tuple[Response, int]:
    log.warning("node %s spoke for attempt %s, which is not its own or not current", _node().name, error)
    return jsonify(error="this attempt is not current"), 409


def _job(claimed: Claimed, fetch_token: Callable[[str], str]) -> Response:
    """The job, and beside it what may be kept nowhere: the token that fetches a private repository."""
    job = dump(claimed.job)
    if not claimed.private:
        return Response(job, mimetype="application/json")
    try:
        token = fetch_token(claimed.job.repository)
    except GitHubError as error:
        log.warning("no fetch token for %s: %s", claimed.job.repository, error)
        token = ""
    return Response(job[:-1] + f',"token":{dumps(token)}}}'.encode(), mimetype="application/json")


def _json() -> dict[str, Any]:
    try:
        said = loads(request.get_data())
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise Unfit(400, "the body is not a JSON object")
    return said


def _value(kind: type[T]) -> T:
    return _read(kind, _unpacked(request.get_data()))


def _read(kind: type[T], data: bytes | str) -> T:
    try:
        return load(kind, data)
    except ProtocolError as error:
        raise Unfit(400, str(error)) from error


def _unpacked(body: bytes) -> bytes:
    """The JSON of a body, gzip or plain; a body that swells beyond all measure is refused."""
    if len(body) > MOST_PACKED:
        raise Unfit(413, "more than 8 MB")
    if body[:2] != b"\x1f\x8b":
        return body
    unpacker = zlib.decompressobj(wbits=GZIP)
    try:
        data = unpacker.decompress(body, MOST_UNPACKED)
    except zlib.error as error:
        raise Unfit(400, "the body is not gzip") from error
    if unpacker.unconsumed_tail:
        raise Unfit(413, "more than 64 MB unpacked")
    return data
