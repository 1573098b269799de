"""The edge as a pure function: headers and raw body in, a typed event or a typed refusal out."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from bot.core.errors import Refused

DELIVERY_LENGTH = 100
LARGEST = 2**63 - 1


class EventKind(StrEnum):
    COMMENT = "comment"
    PULL_OPENED = "pull_opened"
    PULL_PUSHED = "pull_pushed"
    PULL_CLOSED = "pull_closed"
    PULL_EDITED = "pull_edited"
    PULL_DRAFTED = "pull_drafted"
    COMMENT_CHANGED = "comment_changed"
    RERUN = "rerun"
    BUTTON = "button"
    REPOSITORY = "repository"
    INSTALLATION = "installation"
    MERGE_GROUP = "merge_group"
    PUSH = "push"
    PING = "ping"
    IGNORED = "ignored"


PULL_KINDS = {
    "opened": EventKind.PULL_OPENED,
    "reopened": EventKind.PULL_OPENED,
    "ready_for_review": EventKind.PULL_OPENED,
    "synchronize": EventKind.PULL_PUSHED,
    "closed": EventKind.PULL_CLOSED,
    "converted_to_draft": EventKind.PULL_DRAFTED,
}
CHECK_KINDS = {"rerequested": EventKind.RERUN, "requested_action": EventKind.BUTTON}
NAMES = {
    "push": EventKind.PUSH,
    "ping": EventKind.PING,
    "merge_group": EventKind.MERGE_GROUP,
    "installation": EventKind.INSTALLATION,
    "installation_repositories": EventKind.INSTALLATION,
    "installation_target": EventKind.INSTALLATION,
}
MOVES = frozenset({"deleted", "privatized", "publicized", "renamed", "transferred"})


@dataclass(frozen=True)
class Event:
    """Which PR to look at and who moved it; its state is read from the API, never from here.

    `button` names the one pressed on a check, `owner` the account of an installation, `former` what repository or account
    was called before.
    """

    delivery: str
    kind: EventKind
    repository: str = ""
    number: int | None = None
    sender: str = ""
    sender_is_bot: bool = False
    comment_id: int | None = None
    text: str = ""
    sha: str = ""
    action: str = ""
    name: str = ""
    ref: str = ""
    button: str = ""
    owner: str = ""
    former: str = ""
    base_ref: str = ""


def read_event(headers: Mapping[str, str], body: bytes, secrets: Sequence[bytes]) -> Event:
    """The event of a delivery; Refused unless X-Hub-Signature-256 fits the raw body under one of the secrets."""
    given = {name.lower(): value for name, value in headers.items()}
    verify(given.get("x-hub-signature-256", ""), body, secrets)
    return parse_event(headers, body)


def parse_event(headers: Mapping[str, str], body: bytes) -> Event:
    """The event of a delivery whose signature was checked when it came in."""
    given = {name.lower(): value for name, value in headers.items()}
    delivery, name = given.get("x-github-delivery", ""), given.get("x-github-event", "")
    if not name or not 0 < len(delivery) <= DELIVERY_LENGTH:
        raise Refused(400, "X-GitHub-Event or X-GitHub-Delivery is missing")
    return _event(delivery, name, _payload(body))


def verify(signature: str, body: bytes, secrets: Sequence[bytes]) -> None:
    """Refused unless `signature` is the body's HMAC-SHA256 under a non-empty secret."""
    fits = False
    for secret in secrets:
        expected = "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest() if secret else ""
        fits |= bool(secret) and hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
    if not fits:
        raise Refused(401, "the signature does not fit")


def _payload(body: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "the body is not JSON") from error
    if not isinstance(payload, dict):
        raise Refused(400, "the body is not a JSON object")
    return payload


def _event(delivery: str, name: str, payload: Mapping[str, Any]) -> Event:
    sender = _part(payload, "sender")
    comment = _part(payload, "comment")
    pull = _part(payload, "pull_request")
    return Event(
        delivery=delivery,
        kind=_kind(name, payload),
        repository=_text(_part(payload, "repository"), "full_name"),
        number=_number(_part(payload, "issue"), "number") or _number(pull, "number"),
        sender=_text(sender, "login"),
        sender_is_bot=_text(sender, "type") == "Bot",
        comment_id=_number(comment, "id"),
        text=_text(comment, "body"),
        sha=_text(_part(pull, "head"), "sha") or _text(payload, "after") or _text(_headed(payload), "head_sha"),
        action=_text(payload, "action"),
        name=name,
        ref=_text(payload, "ref") or _text(_part(payload, "merge_group"), "head_ref"),
        base_ref=_text(_part(payload, "merge_group"), "base_ref"),
        button=_text(_part(payload, "requested_action"), "identifier"),
        owner=_text(_part(_part(payload, "installation"), "account"), "login") or _text(_part(payload, "account"), "login"),
        former=_former(payload),
    )


def _headed(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return next((part for name in ("check_run", "check_suite", "merge_group") if (part := _part(payload, name))), {})


def _former(payload: Mapping[str, Any]) -> str:
    """What a renamed or transferred repository, or a renamed account, was called; "" where nothing was."""
    changes, now = _part(payload, "changes"), _text(_part(payload, "repository"), "full_name")
    owner, _, name = now.partition("/")
    earlier = _part(_part(changes, "owner"), "from")
    before = _text(_part(earlier, "user") or _part(earlier, "organization"), "login")
    called = _text(_part(_part(changes, "repository"), "name"), "from")
    if now and (before or called):
        return f"{before or owner}/{called or name}"
    return _text(_part(changes, "login"), "from")


def _kind(name: str, payload: Mapping[str, Any]) -> EventKind:
    """What the event is to us; a comment on a plain issue, an edit of a title and the like are IGNORED."""
    action = _text(payload, "action")
    if name == "issue_comment":
        on_pull = bool(_part(_part(payload, "issue"), "pull_request"))
        if action in ("edited", "deleted"):
            return EventKind.COMMENT_CHANGED
        return EventKind.COMMENT if on_pull and action == "created" else EventKind.IGNORED
    if name in ("check_run", "check_suite"):
        return CHECK_KINDS.get(action, EventKind.IGNORED)
    if name == "repository":
        return EventKind.REPOSITORY if action in MOVES else EventKind.IGNORED
    if name == "pull_request":
        if action == "edited" and _part(_part(payload, "changes"), "base"):
            return EventKind.PULL_EDITED
        return PULL_KINDS.get(action, EventKind.IGNORED)
    return NAMES.get(name, EventKind.IGNORED)


def _part(payload: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def _text(payload: Mapping[str, Any], key: str) -> str:
    """A string that any store can hold: JSON may carry NULs and halves of characters."""
    value = payload.get(key)
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _number(payload: Mapping[str, Any], key: str) -> int | None:
    """A number that any store can hold; JSON's may have a thousand digits."""
    value = payload.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST else None
