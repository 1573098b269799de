"""Who is calling: a person by token, the App by JWT, or an installation by the token it was given."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

import jwt
from flask import Request

from bot.forge.errors import ApiError
from bot.forge.world import Repository, World

TOKEN_SECONDS = 3600
JWT_SECONDS = 600
CLOCK_SLACK = 60
LEVELS = ("none", "read", "write", "admin")


@dataclass(frozen=True)
class Actor:
    login: str  # empty: anonymous
    app: bool = False  # an installation, or the App itself
    signed: bool = False  # the App by JWT: may ask for tokens only
    only: frozenset[str] = frozenset()  # the repositories an installation's token is narrowed to; none: all

    def may(self, repository: Repository, level: str) -> bool:
        """Has this permission; an installation may write what kernelgate asks for."""
        if self.app:
            return level in ("read", "write") and (not self.only or repository.name in self.only)
        return LEVELS.index(repository.permission(self.login)) >= LEVELS.index(level)


class Keys:
    """Installation tokens given out, with their end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.installed: dict[str, tuple[float, frozenset[str]]] = {}

    def issue(self, only: frozenset[str] = frozenset()) -> tuple[str, float]:
        """A token for the installation's repositories, or for those of these names, and its end."""
        token, end = f"ghs_{secrets.token_urlsafe(27)}", time.time() + TOKEN_SECONDS
        self.installed[token] = (end, only)
        return token, end

    def actor(self, request: Request) -> Actor:
        """The caller; 401 for a credential nobody has."""
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return Actor("")
        if scheme.lower() == "basic":
            value = (request.authorization.password if request.authorization else None) or ""
        return self._known(value.strip())

    def name(self, request: Request) -> str:
        """Whom a call counts for; "" for anybody without a good credential."""
        try:
            return self.actor(request).login
        except ApiError:
            return ""

    def _known(self, token: str) -> Actor:
        if token in self.world.tokens:
            return Actor(self.world.tokens[token])
        end, only = self.installed.get(token, (0.0, frozenset()))
        if end > time.time():
            return Actor(self.world.bot_login(), app=True, only=only)
        if token.count(".") == 2:
            return self._signed(token)
        raise ApiError(401, "Bad credentials")

    def _signed(self, token: str) -> Actor:
        app = self.world.app
        if app is None:
            raise ApiError(401, "A JSON web token could not be decoded")
        try:
            claims = jwt.decode(token, app.public_key, algorithms=["RS256"], leeway=CLOCK_SLACK, options={"require": ["exp", "iat", "iss"]})
        except jwt.InvalidTokenError as error:
            raise ApiError(401, "A JSON web token could not be decoded") from error
        if str(claims["iss"]) != str(app.id):
            raise ApiError(401, "'Issuer' claim ('iss') must be an Integer")
        if claims["exp"] - time.time() > JWT_SECONDS + CLOCK_SLACK:
            raise ApiError(401, "'Expiration time' claim ('exp') is too far in the future")
        return Actor(self.world.bot_login(), app=True, signed=True)
