"""Users, repositories, the App and its installation, as GitHub's JSON."""

from __future__ import annotations

import base64
from typing import Any

from bot.forge.wire import PREFIX
from bot.forge.world import App, Repository, World

STARTED = "2025-01-01T00:00:00Z"


def node_id(kind: str, number: int) -> str:
    return base64.b64encode(f"{kind}{number}".encode()).decode()


def user(world: World, login: str) -> dict[str, Any]:
    account = world.account(login)
    url = f"{world.url}{PREFIX}/users/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": node_id("User", account.id),
        "avatar_url": f"{world.url}/avatars/{account.login}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{world.url}/{account.login}",
        "type": account.kind,
        "site_admin": False,
    }


def full_user(world: World, login: str) -> dict[str, Any]:
    return user(world, login) | {"created_at": STARTED, "updated_at": STARTED, "user_view_type": "public"}


def repository(world: World, one: Repository, viewer: str = "") -> dict[str, Any]:
    """One repository; with a viewer also that person's permissions."""
    shown = {
        "id": one.id,
        "node_id": node_id("Repository", one.id),
        "name": one.name,
        "full_name": one.full_name,
        "private": one.private,
        "owner": user(world, one.owner),
        "html_url": f"{world.url}/{one.full_name}",
        "description": one.description or None,
        "fork": bool(one.fork_of),
        "url": f"{world.url}{PREFIX}/repos/{one.full_name}",
        "git_url": f"{world.url}/{one.full_name}.git",
        "ssh_url": f"{world.url}/{one.full_name}.git",
        "clone_url": f"{world.url}/{one.full_name}.git",
        "svn_url": f"{world.url}/{one.full_name}",
        "default_branch": one.default_branch,
        "visibility": "private" if one.private else "public",
        "created_at": STARTED,
        "updated_at": STARTED,
        "pushed_at": STARTED,
        "topics": [],
        "forks": 0,
        "open_issues": sum(pull.state == "open" for pull in world.pulls_of(one.full_name)),
        "watchers": 0,
    }
    return shown | ({"permissions": permissions(one, viewer)} if viewer else {})


def permissions(one: Repository, login: str) -> dict[str, bool]:
    held = ("read", "triage", "write", "maintain", "admin")
    rank = held.index(one.role(login)) if one.role(login) in held else -1
    return {
        "admin": rank >= held.index("admin"),
        "maintain": rank >= held.index("maintain"),
        "push": rank >= held.index("write"),
        "triage": rank >= held.index("triage"),
        "pull": rank >= 0,
    }


def collaborator(world: World, one: Repository, login: str) -> dict[str, Any]:
    return {
        "permission": one.permission(login),
        "role_name": one.role(login),
        "user": full_user(world, login) | {"permissions": permissions(one, login)},
    }


def collaborators(world: World, one: Repository, permission: str) -> list[dict[str, Any]]:
    """Those with a role that gives this permission: pull, triage, push, maintain or admin."""
    named = [login for login in sorted(one.roles) if permissions(one, login)[permission]]
    return [user(world, login) | {"permissions": permissions(one, login), "role_name": one.role(login)} for login in named]


def app(world: World, one: App) -> dict[str, Any]:
    return {
        "id": one.id,
        "slug": one.slug,
        "node_id": node_id("App", one.id),
        "client_id": f"Iv1.{one.id:016x}",
        "owner": user(world, one.owner),
        "name": one.name,
        "description": None,
        "external_url": world.url,
        "html_url": f"{world.url}/apps/{one.slug}",
        "created_at": STARTED,
        "updated_at": STARTED,
        "permissions": one.permissions,
        "events": one.events,
    }


def installation(world: World, one: App) -> dict[str, Any]:
    url = f"{world.url}{PREFIX}/app/installations/{one.installation}"
    return {
        "id": one.installation,
        "account": user(world, one.owner),
        "repository_selection": "all",
        "access_tokens_url": f"{url}/access_tokens",
        "repositories_url": f"{world.url}{PREFIX}/installation/repositories",
        "html_url": f"{world.url}/settings/installations/{one.installation}",
        "app_id": one.id,
        "app_slug": one.slug,
        "target_id": world.account(one.owner).id,
        "target_type": world.account(one.owner).kind,
        "permissions": one.permissions,
        "events": one.events,
        "created_at": STARTED,
        "updated_at": STARTED,
        "single_file_name": None,
        "suspended_at": STARTED if one.suspended else None,
        "suspended_by": None,
    }
