"""The GitHub App that the service needs: what it may do, what it hears of, and the manifest GitHub makes it from."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

PERMISSIONS = {
    "checks": "write",  # its check and the check's buttons
    "contents": "read",  # files, branches and comparisons, and what a node fetches
    "issues": "read",  # comments on pull requests are told as those on issues
    "merge_queues": "read",
    "metadata": "read",  # who may write
    "pull_requests": "write",  # comments on them, and reactions to comments
}
EVENTS = ("check_run", "check_suite", "issue_comment", "merge_group", "pull_request", "push", "repository")
LONGEST_NAME = 34  # that GitHub takes for an App


def manifest(url: str, redirect: str, owner: str) -> dict[str, Any]:
    """An App whose hook is the service at `url`; `owner` tells its name from other Apps', as names are GitHub-wide."""
    return {
        "name": f"kernelgate {owner or urlsplit(url).hostname}"[:LONGEST_NAME].rstrip(" .-"),
        "url": url,
        "hook_attributes": {"url": f"{url}/webhook", "active": True},
        "redirect_url": redirect,
        "public": False,
        "default_permissions": PERMISSIONS,
        "default_events": list(EVENTS),
    }
