"""The App: itself, what its maker is given for a code, its installation, tokens for it, and its webhook deliveries."""

from __future__ import annotations

import json
import secrets
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from bot.forge import service as forge
from bot.forge.answers import accounts
from bot.forge.errors import ApiError, not_found
from bot.forge.world import App, Delivery

routes = Blueprint("apps", __name__)


def signed_app() -> App:
    """The App, if the caller proved to be it by JWT."""
    app = forge.service().world.app
    if not forge.actor().signed or app is None:
        raise ApiError(401, "A JSON web token could not be decoded")
    return app


@routes.get("/app")
def app() -> Response:
    return forge.answer(accounts.app(forge.service().world, signed_app()))


def installed(number: int) -> App:
    """The App, if this is its installation."""
    one = signed_app()
    if number != one.installation or not number:
        raise not_found()
    return one


@routes.post("/app-manifests/<code>/conversions")
def conversion(code: str) -> Response:
    """What an App's maker needs, for a code that was not used and is not older than an hour."""
    made = forge.service().world.registrations.pop(code, None)
    if made is None or made.end < time.time():
        raise not_found()
    told = accounts.app(forge.service().world, made.app) | {"pem": made.private_key, "webhook_secret": made.secret}
    return forge.answer(told | {"client_secret": secrets.token_hex(20)}, 201)


@routes.get("/app/installations")
def installations() -> Response:
    one = signed_app()
    return forge.page([accounts.installation(forge.service().world, one)] if one.installation else [])


@routes.get("/app/installations/<int:installation_id>")
def installation(installation_id: int) -> Response:
    one = installed(installation_id)
    return forge.answer(accounts.installation(forge.service().world, one))


@routes.get("/repos/<owner>/<repo>/installation")
def repository_installation(owner: str, repo: str) -> Response:
    one, world = signed_app(), forge.service().world
    if f"{owner}/{repo}" not in world.repositories or owner != one.owner or not one.installation:
        raise not_found()
    return forge.answer(accounts.installation(world, one))


@routes.post("/app/installations/<int:installation_id>/access_tokens")
def access_tokens(installation_id: int) -> Response:
    one, world = installed(installation_id), forge.service().world
    if one.suspended:
        raise ApiError(403, "This installation has been suspended")
    only = frozenset(forge.sent().get("repositories", ()))
    if not all(f"{one.owner}/{name}" in world.repositories for name in only):
        raise ApiError(422, "There is at least one repository that does not exist or is not accessible to the parent installation.")
    token, end = forge.service().keys.issue(only)
    until = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    permissions = forge.sent().get("permissions", one.permissions)
    told = {"token": token, "expires_at": until, "permissions": permissions, "repository_selection": "selected" if only else "all"}
    return forge.answer(told, 201)


@routes.get("/installation/repositories")
def repositories() -> Response:
    world, caller = forge.service().world, forge.actor()
    if not caller.app or world.app is None:
        raise ApiError(403, "You must authenticate with an installation access token in order to list repositories for an installation.")
    mine = [one for one in world.repositories.values() if one.owner == world.app.owner]
    return forge.page([accounts.repository(world, one) for one in mine], "repositories")


@routes.get("/app/hook/deliveries")
def deliveries() -> Response:
    """Newest first; `status` picks the good or the failed ones, `cursor` goes on after a page."""
    signed_app()
    status, last = request.args.get("status", ""), request.args.get("cursor", type=int)
    newest_first = sorted(forge.service().world.deliveries.values(), key=lambda one: -one.id)
    found = [one for one in newest_first if one.id < (last or one.id + 1) and status in ("", one.outcome)]
    size = max(1, min(request.args.get("per_page", 30, type=int), forge.MOST))
    response = forge.answer([summary(one) for one in found[:size]])
    if len(found) > size:
        query = urlencode({**request.args.to_dict(), "cursor": found[size - 1].id})
        response.headers["Link"] = f'<{forge.service().world.url}{request.path}?{query}>; rel="next"'
    return response


@routes.get("/app/hook/deliveries/<int:delivery_id>")
def delivery(delivery_id: int) -> Response:
    one = known(delivery_id)
    sent: dict[str, Any] = {"headers": one.headers, "payload": json.loads(one.body)}
    return forge.answer(summary(one) | {"request": sent, "response": {"headers": {}, "payload": one.answer}})


@routes.post("/app/hook/deliveries/<int:delivery_id>/attempts")
def attempts(delivery_id: int) -> Response:
    forge.service().courier.again(known(delivery_id))
    return forge.answer({}, 202)


def known(delivery_id: int) -> Delivery:
    signed_app()
    found = forge.service().world.deliveries.get(delivery_id)
    if found is None:
        raise not_found()
    return found


def summary(one: Delivery) -> dict[str, Any]:
    return {
        "id": one.id,
        "guid": one.guid,
        "delivered_at": one.delivered,
        "redelivery": one.redelivery,
        "duration": one.duration,
        "status": one.status,
        "status_code": one.status_code,
        "event": one.event,
        "action": one.action,
        "installation_id": forge.service().world.app.installation if forge.service().world.app else None,  # type: ignore[union-attr]
        "repository_id": one.repository,
    }
