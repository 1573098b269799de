"""The pages on which a person makes an App from a manifest, and installs it on the repositories of its owner."""

from __future__ import annotations

import json
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from flask import Blueprint, redirect, request
from werkzeug.wrappers import Response as Answer

from bot.forge import service as forge
from bot.forge.description import Description
from bot.forge.errors import ApiError, not_found
from bot.forge.page import ENVIRONMENT
from bot.forge.world import App, Hook, Registration, World

routes = Blueprint("registering", __name__)
FROM_ANYWHERE = "registering.new"
HOUR = 3600
ADDRESS = re.compile(r"https?://[^\s/]+\S*")
NEEDED = {  # what an App must be allowed to read, to hear of these
    "check_run": "checks",
    "check_suite": "checks",
    "issue_comment": "issues",
    "merge_group": "merge_queues",
    "pull_request": "pull_requests",
    "push": "contents",
    "repository": "metadata",
}


@dataclass(frozen=True)
class Manifest:
    name: str
    hook: str
    redirect: str
    permissions: dict[str, str]
    events: list[str]


def read(text: str, description: Description) -> Manifest:
    """A manifest as its maker sent it; ApiError with what GitHub would not take."""
    try:
        told: dict[str, Any] = json.loads(text)
        permissions, events = dict(told["default_permissions"]), list(map(str, told["default_events"]))
        found = Manifest(told.get("name", ""), told["hook_attributes"]["url"], told["redirect_url"], permissions, events)
        addresses = (told["url"], found.hook, found.redirect)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise invalid(f"{type(error).__name__} {error}") from error
    if not all(isinstance(one, str) and ADDRESS.fullmatch(one) for one in addresses):
        raise invalid("an address is none")
    if fault := description.permissions_fault(found.permissions):
        raise invalid(fault)
    if unheard := [event for event in found.events if NEEDED.get(event) not in found.permissions]:
        raise invalid(f"default events unsupported: {', '.join(unheard)}")
    return found


def invalid(why: str) -> ApiError:
    return ApiError(422, f"Invalid GitHub App configuration: {why}")


@routes.post("/settings/apps/new")
@routes.post("/organizations/<organization>/settings/apps/new")
def new(organization: str = "") -> str:
    """The App as the manifest has it, with a button to make it."""
    world, text = forge.service().world, request.form.get("manifest", "")
    _organization(world, organization)
    told = read(text, forge.service().description)
    return ENVIRONMENT.get_template("new_app.html.j2").render(
        manifest=told, text=text, state=request.args.get("state", ""), organization=organization, people=sorted(set(world.tokens.values()))
    )


@routes.post("/settings/apps")
def make() -> Answer:
    """The button: the App is there now, and its maker is sent back with a code for its key."""
    parts, form = forge.service(), request.form
    told, name = read(form.get("manifest", ""), parts.description), form.get("name", "")
    organization = form.get("organization", "")
    owner = _organization(parts.world, organization) if organization else parts.actions.person(form.get("login", ""))
    query = urlencode({"code": register(parts.world, told, name, owner), "state": form.get("state", "")})
    return redirect(f"{told.redirect}{'&' if '?' in told.redirect else '?'}{query}")


def _organization(world: World, name: str) -> str:
    if name and (name not in world.accounts or world.accounts[name].kind != "Organization"):
        raise not_found()
    return name


def register(world: World, told: Manifest, name: str, owner: str) -> str:
    """Make the App, not installed yet; the code for what its maker needs to know."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    private, public = key_pair()
    with world.lock:
        if not slug or world.app is not None:
            raise ApiError(422, "Name can't be blank" if not slug else "The forge has an App already")
        world.app = App(world.next_id(), slug, name, owner, public, permissions=told.permissions, events=told.events)
        made = Registration(world.app, private, secrets.token_hex(20), time.time() + HOUR)
        world.hooks.append(Hook(world.next_id(), told.hook, made.secret))
        world.account(world.bot_login(), "Bot")
        code = secrets.token_hex(20)
        world.registrations[code] = made
    return code


def key_pair() -> tuple[str, str]:
    """Private and public PEM, in the forms that GitHub has for Apps."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption())
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


@routes.get("/apps/<slug>/installations/new")
def ask_to_install(slug: str) -> str:
    return ENVIRONMENT.get_template("install_app.html.j2").render(app=_app(slug))


@routes.post("/apps/<slug>/installations/new")
def install(slug: str) -> Answer:
    """On all repositories of its owner."""
    one = _app(slug)
    one.installation = one.installation or forge.service().world.next_id()
    forge.service().herald.installation("created", one.owner)
    return redirect("/", 303)


def _app(slug: str) -> App:
    one = forge.service().world.app
    if one is None or one.slug != slug:
        raise not_found()
    return one
