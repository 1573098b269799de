"""The parts of one running forge, found by the routes on Flask's application."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import Response, current_app, jsonify, request

from bot.forge.actions import Actions
from bot.forge.auth import Actor, Keys
from bot.forge.description import Description
from bot.forge.errors import ApiError, Moved, not_found
from bot.forge.events import Herald
from bot.forge.hooks import Courier
from bot.forge.wire import PREFIX, pattern_of
from bot.forge.world import Pull, Repository, World

MOST = 100


@dataclass(frozen=True)
class Service:
    world: World
    description: Description
    keys: Keys
    courier: Courier
    herald: Herald
    actions: Actions

    @property
    def api(self) -> str:
        return self.world.url + PREFIX


def service() -> Service:
    found: Service = current_app.extensions["forge"]
    return found


def actor() -> Actor:
    """The caller of this request."""
    return service().keys.actor(request)


def writer(repository: Repository, level: str = "write") -> Actor:
    """The caller, if it has this permission; else GitHub's 401, 403 or, for what is hidden, 404."""
    caller = signed_in(repository)
    if not caller.may(repository, level):
        raise ApiError(403, "Resource not accessible by integration" if caller.app else f"Must have {level} rights to Repository.")
    return caller


def signed_in(repository: Repository) -> Actor:
    caller = actor()
    if not caller.login:
        raise ApiError(401, "Requires authentication")
    if caller.signed:
        raise ApiError(403, "Resource not accessible by integration")
    if not caller.may(repository, "read"):
        raise not_found()
    return caller


def repository(owner: str, repo: str) -> Repository:
    """The repository, if the caller may see it."""
    world = service().world
    if f"{owner}/{repo}" in world.moved:
        here = f"/repos/{owner}/{repo}"
        raise Moved(request.url.replace(here, f"/repos/{world.moved[here.removeprefix('/repos/')]}", 1))
    found = world.repositories.get(f"{owner}/{repo}")
    if found is None or (found.private and not actor().may(found, "read")):
        raise not_found()
    return found


def pull(owner: str, repo: str, number: int) -> Pull:
    found = service().world.pulls.get((repository(owner, repo).full_name, number))
    if found is None:
        raise not_found()
    return found


def answer(value: Any, status: int = 200) -> Response:
    """A JSON answer, completed to GitHub's shape."""
    assert request.url_rule is not None
    parts = service()
    schema = parts.description.answer_schema(pattern_of(request.url_rule.rule), request.method.lower(), status)
    whole = parts.description.complete(schema, value, parts.api)
    response = jsonify(whole)
    response.status_code = status
    return response


def page(items: list[Any], key: str = "") -> Response:
    """One page of a list (or of `key` in a counted object), with GitHub's Link header."""
    size = max(1, min(request.args.get("per_page", 30, type=int), MOST))
    number = max(1, request.args.get("page", 1, type=int))
    part = items[(number - 1) * size : number * size]
    response = answer({"total_count": len(items), key: part} if key else part)
    last = -(-len(items) // size)
    links = {"next": number + 1, "last": last} if number < last else {}
    links |= {"prev": number - 1, "first": 1} if number > 1 else {}
    if links:
        response.headers["Link"] = ", ".join(f'<{_at(page)}>; rel="{rel}"' for rel, page in links.items())
    return response


def _at(page: int) -> str:
    return f"{service().world.url}{request.path}?{urlencode({**request.args.to_dict(), 'page': page})}"


def sent() -> dict[str, Any]:
    """The request's JSON object (validated before any route runs)."""
    body = request.get_json(force=True, silent=True)
    return body if isinstance(body, dict) else {}
