"""Users, repositories, permissions."""

from __future__ import annotations

from flask import Blueprint, Response, request

from bot.forge import service as forge
from bot.forge.answers import accounts
from bot.forge.errors import ApiError, not_found

routes = Blueprint("repositories", __name__)


@routes.get("/user")
def me() -> Response:
    caller = forge.actor()
    if not caller.login:
        raise ApiError(401, "Requires authentication")
    if caller.app:
        raise ApiError(403, "Resource not accessible by integration")
    return forge.answer(accounts.full_user(forge.service().world, caller.login) | {"user_view_type": "private"})


@routes.get("/users/<username>")
def user(username: str) -> Response:
    if username not in forge.service().world.accounts:
        raise not_found()
    return forge.answer(accounts.full_user(forge.service().world, username))


@routes.get("/repos/<owner>/<repo>")
def repository(owner: str, repo: str) -> Response:
    found = forge.repository(owner, repo)
    return forge.answer(accounts.repository(forge.service().world, found, forge.actor().login))


@routes.get("/repos/<owner>/<repo>/collaborators")
def collaborators(owner: str, repo: str) -> Response:
    found = forge.repository(owner, repo)
    forge.signed_in(found)
    return forge.page(accounts.collaborators(forge.service().world, found, request.args.get("permission", "pull")))


@routes.get("/repos/<owner>/<repo>/collaborators/<username>/permission")
def permission(owner: str, repo: str, username: str) -> Response:
    found = forge.repository(owner, repo)
    forge.signed_in(found)
    if username not in forge.service().world.accounts:
        raise not_found()
    return forge.answer(accounts.collaborator(forge.service().world, found, username))


@routes.get("/rate_limit")
def rate_limit() -> Response:
    hour = forge.service().world.meter.told(forge.actor().login)
    return forge.answer({"resources": {"core": hour, "search": hour}, "rate": hour})
