"""The fault plan: what goes wrong with the App's next calls, one entry a call, in GitHub's own words and headers."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from flask import Request, Response, jsonify

from bot.forge.errors import ApiError

SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


class Kind(StrEnum):
    NONE = "none"
    DELAY = "delay"  # answered after `seconds`
    DOWN = "down"  # 503, nothing done
    LOST = "lost"  # done, then answered 502
    CUT = "cut"  # done, then the connection is closed without an answer
    UNAUTHORIZED = "unauthorized"  # 401, as for a token that was taken back
    ABUSE = "abuse"  # 403 with retry-after
    TOO_MANY = "too_many"  # 429 with retry-after
    SPENT = "spent"  # 403: none of the hour's calls are left for `seconds`


AFTER = frozenset({Kind.LOST, Kind.CUT})


@dataclass(frozen=True)
class Fault:
    """One entry of the plan; `seconds` is the delay, or the wait that GitHub asks for."""

    kind: Kind
    seconds: float = 0.0


@dataclass
class Plan:
    """The faults to come; people's calls take none of them."""

    coming: deque[Fault] = field(default_factory=deque)
    met: int = 0

    def add(self, faults: Iterable[Fault]) -> None:
        self.coming.extend(faults)

    def next(self) -> Fault:
        """The fault of this call."""
        fault = self.coming.popleft() if self.coming else Fault(Kind.NONE)
        self.met += fault.kind is not Kind.NONE
        return fault


def before(fault: Fault) -> None:
    """Do what goes wrong before GitHub looks at a call; ApiError."""
    if fault.kind is Kind.DELAY:
        time.sleep(fault.seconds)
    elif fault.kind is Kind.DOWN:
        raise ApiError(503, "Service unavailable")
    elif fault.kind is Kind.UNAUTHORIZED:
        raise ApiError(401, "Bad credentials")
    elif fault.kind in (Kind.ABUSE, Kind.TOO_MANY):
        raise ApiError(403 if fault.kind is Kind.ABUSE else 429, SECONDARY, headers={"Retry-After": f"{fault.seconds:.0f}"})
    elif fault.kind is Kind.SPENT:
        raise spent(5000, time.time() + fault.seconds)


def after(fault: Fault, request: Request, response: Response) -> Response:
    """Do what goes wrong once a call was served."""
    if fault.kind is Kind.LOST:
        lost = jsonify(ApiError(502, "Server Error").body())
        lost.status_code = 502
        return lost
    if fault.kind is Kind.CUT:
        connection: socket.socket = request.environ["werkzeug.socket"]
        connection.shutdown(socket.SHUT_RDWR)
    return response


def spent(limit: int, reset: float) -> ApiError:
    """GitHub's refusal where none of the hour's calls are left."""
    counted = {"Limit": limit, "Remaining": 0, "Used": limit, "Reset": int(reset), "Resource": "core"}
    headers = {f"X-RateLimit-{name}": str(value) for name, value in counted.items()}
    return ApiError(403, "API rate limit exceeded for installation.", headers=headers)
