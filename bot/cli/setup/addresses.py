"""Addresses of the service and of GitHub: which may be spoken to, and where GitHub's pages are."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

import click

from bot.settings import is_loopback, is_safe_address

API = re.compile(r"(?P<web>https?://[^/]+)/api/v3|https://api\.(?P<host>[^/]+)")
ORGANIZATION = re.compile(r"[A-Za-z0-9](?:-?[A-Za-z0-9])*")


def safe(ctx: click.Context, option: click.Parameter, value: str) -> str:
    """The address without a slash at its end; a usage error where a secret might be read on its way."""
    if not is_safe_address(value):
        raise click.BadParameter(f"{value} is not https://HOST (plain http is for loopback alone)")
    return value.rstrip("/")


def organization(ctx: click.Context, option: click.Parameter, value: str) -> str:
    if value and not ORGANIZATION.fullmatch(value):
        raise click.BadParameter(f"{value} is no name of an organization")
    return value


def web_address(api: str) -> str:
    """Where people meet the GitHub whose API this is."""
    found = API.fullmatch(api)
    if found is None:
        raise click.BadParameter(f"write {api} as https://api.github.com or https://HOST/api/v3", param_hint="--github-api")
    return found["web"] or f"https://{found['host']}"


def check_reachable(url: str, api: str) -> None:
    """A usage error where GitHub could not reach the hook."""
    if is_loopback(urlsplit(url).hostname or "") and not is_loopback(urlsplit(api).hostname or ""):
        raise click.BadParameter(f"GitHub can't reach {url}: give the address that the bot has on the internet", param_hint="--url")


def registration(web: str, owner: str, state: str) -> str:
    """The page that takes a manifest, for an organization's App or for one's own."""
    return f"{apps(web, owner)}/new?state={quote(state)}"


def apps(web: str, owner: str) -> str:
    """The page that lists the owner's Apps."""
    return f"{web}/organizations/{owner}/settings/apps" if owner else f"{web}/settings/apps"
