"""Cuts GitHub's OpenAPI description (npm @octokit/openapi, MIT) down to the calls and webhooks the forge serves.

python -m bot.forge.prune package/generated/api.github.com.json VERSION > bot/forge/github.json
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

REPO = "/repos/{owner}/{repo}"
CALLS: dict[str, tuple[str, ...]] = {
    "/user": ("get",),
    "/users/{username}": ("get",),
    "/rate_limit": ("get",),
    "/app": ("get",),
    "/app-manifests/{code}/conversions": ("post",),
    "/app/installations": ("get",),
    "/app/installations/{installation_id}": ("get",),
    "/app/installations/{installation_id}/access_tokens": ("post",),
    "/app/hook/deliveries": ("get",),
    "/app/hook/deliveries/{delivery_id}": ("get",),
    "/app/hook/deliveries/{delivery_id}/attempts": ("post",),
    "/installation/repositories": ("get",),
    REPO: ("get",),
    f"{REPO}/installation": ("get",),
    f"{REPO}/collaborators": ("get",),
    f"{REPO}/collaborators/{{username}}/permission": ("get",),
    f"{REPO}/contents/{{path}}": ("get",),
    f"{REPO}/branches/{{branch}}": ("get",),
    f"{REPO}/commits/{{ref}}": ("get",),
    f"{REPO}/commits/{{ref}}/check-runs": ("get",),
    f"{REPO}/commits/{{commit_sha}}/pulls": ("get",),
    f"{REPO}/compare/{{basehead}}": ("get",),
    f"{REPO}/git/ref/{{ref}}": ("get",),
    f"{REPO}/git/commits/{{commit_sha}}": ("get",),
    f"{REPO}/check-runs": ("post",),
    f"{REPO}/check-runs/{{check_run_id}}": ("get", "patch"),
    f"{REPO}/pulls": ("get", "post"),
    f"{REPO}/pulls/{{pull_number}}": ("get", "patch"),
    f"{REPO}/pulls/{{pull_number}}/commits": ("get",),
    f"{REPO}/pulls/{{pull_number}}/files": ("get",),
    f"{REPO}/issues/{{issue_number}}": ("get",),
    f"{REPO}/issues/{{issue_number}}/comments": ("get", "post"),
    f"{REPO}/issues/comments/{{comment_id}}": ("get", "patch", "delete"),
    f"{REPO}/issues/comments/{{comment_id}}/reactions": ("get", "post"),
    f"{REPO}/issues/comments/{{comment_id}}/reactions/{{reaction_id}}": ("delete",),
}
HOOKS = (
    "check-run-requested-action",
    "check-run-rerequested",
    "installation-created",
    "installation-deleted",
    "installation-repositories-added",
    "installation-repositories-removed",
    "installation-suspend",
    "installation-unsuspend",
    "issue-comment-created",
    "issue-comment-deleted",
    "issue-comment-edited",
    "merge-group-checks-requested",
    "merge-group-destroyed",
    "ping",
    "pull-request-closed",
    "pull-request-converted-to-draft",
    "pull-request-edited",
    "pull-request-opened",
    "pull-request-ready-for-review",
    "pull-request-reopened",
    "pull-request-synchronize",
    "push",
    "repository-deleted",
    "repository-privatized",
    "repository-publicized",
    "repository-renamed",
    "repository-transferred",
)
PROSE = frozenset({"description", "summary", "example", "examples", "externalDocs", "tags", "headers", "title", "x-github"})
NAMED = frozenset({"properties", "schemas", "parameters", "responses", "paths", "x-webhooks"})  # their keys are names, not keywords


def without_prose(node: Any, names: bool = False) -> Any:
    """The node without the keys that validate nothing; a response keeps the description it must have."""
    if isinstance(node, list):
        return [without_prose(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {k: without_prose(v, k in NAMED and not names) for k, v in node.items() if names or k not in PROSE}
    if kept.get("nullable") and None not in kept.get("enum", [None]):
        kept["enum"] = [*kept["enum"], None]  # GitHub does answer null there, a running check's conclusion for one
    if "array" in kept.get("discriminator", {}).get("mapping", {}):
        del kept["discriminator"]  # an array has no property to tell it by; the alternatives do
    return {"description": "", **kept} if "content" in node and "required" not in node and not names else kept


def referred(node: Any) -> set[str]:
    return set(re.findall(r'"\$ref": ?"#/components/([^"]+)"', json.dumps(node)))


def prune(full: dict[str, Any], version: str) -> dict[str, Any]:
    """The description with our calls and webhooks and only the components they reach."""
    paths = {path: {verb: full["paths"][path][verb] for verb in verbs} for path, verbs in CALLS.items()}
    hooks = {name: full["x-webhooks"][name] for name in HOOKS}
    paths, hooks = without_prose(paths, names=True), without_prose(hooks, names=True)
    parts: dict[str, dict[str, Any]] = {}
    todo = referred([paths, hooks])
    while todo:
        kind, name = todo.pop().split("/", 1)
        part = without_prose(full["components"][kind][name])
        parts.setdefault(kind, {})[name] = part
        todo |= {ref for ref in referred(part) if ref.split("/", 1)[1] not in parts.get(ref.split("/", 1)[0], {})}
    info = {
        "title": "GitHub's REST API, cut down",
        "version": version,
        "license": {"name": "MIT"},
        "x-source": f"npm package @octokit/openapi {version}, Copyright (c) 2020 Octokit contributors, MIT license",
    }
    return {"openapi": full["openapi"], "info": info, "paths": paths, "x-webhooks": hooks, "components": parts}


def main(source: str, version: str) -> None:
    pruned = prune(json.loads(Path(source).read_text()), version)
    json.dump(pruned, sys.stdout, sort_keys=True, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
