"""Check runs, as GitHub's JSON."""

from __future__ import annotations

from typing import Any

from bot.forge.answers.accounts import app, node_id
from bot.forge.wire import PREFIX
from bot.forge.world import CheckRun, World


def check_run(world: World, one: CheckRun) -> dict[str, Any]:
    url = f"{world.url}{PREFIX}/repos/{one.repository}/check-runs/{one.id}"
    told = one.fields.get("output", {})
    annotations = told.get("annotations", [])
    output = {key: told.get(key) for key in ("title", "summary", "text")}
    return {
        "id": one.id,
        "node_id": node_id("CheckRun", one.id),
        "head_sha": one.head_sha,
        "name": one.name,
        "url": url,
        "html_url": f"{world.url}/{one.repository}/runs/{one.id}",
        "external_id": one.fields.get("external_id", ""),
        "details_url": one.fields.get("details_url") or world.url,
        "status": one.fields["status"],
        "conclusion": one.fields.get("conclusion"),
        "started_at": one.fields.get("started_at"),
        "completed_at": one.fields.get("completed_at"),
        "output": output | {"annotations_count": len(annotations), "annotations_url": f"{url}/annotations"},
        "check_suite": {"id": int(one.head_sha[:8], 16)},
        "app": app(world, world.app) if world.app else None,
        "pull_requests": [],
    }
