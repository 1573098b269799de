"""Check runs: made and changed by the App only, listed for a commit."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from bot.forge import git
from bot.forge import service as forge
from bot.forge.answers.checks import check_run
from bot.forge.errors import ApiError, invalid, not_found
from bot.forge.world import CheckRun, Repository, now

routes = Blueprint("checks", __name__)
CHECKS = "/repos/<owner>/<repo>/check-runs"


def app_only(repository: Repository) -> None:
    if not forge.writer(repository).app:
        raise ApiError(403, "You must authenticate via a GitHub App.")


@routes.post(CHECKS)
def create(owner: str, repo: str) -> Response:
    repository, world, sent = forge.repository(owner, repo), forge.service().world, forge.sent()
    app_only(repository)
    try:
        sha = git.resolve(repository.path, sent["head_sha"])
    except git.GitError as error:
        raise invalid("CheckRun", "head_sha", message=f"No commit found for SHA: {sent['head_sha']}") from error
    check = CheckRun(world.next_id(), repository.full_name, sha, sent["name"], {"status": "queued", "started_at": now()})
    change(check, sent)
    world.checks[check.id] = check
    return forge.answer(check_run(world, check), 201)


def change(check: CheckRun, sent: dict[str, Any]) -> None:
    """Take over what was sent; a conclusion completes the run, completion needs a conclusion."""
    if sent.get("status") == "completed" and not sent.get("conclusion"):
        raise invalid("CheckRun", "conclusion", "missing_field")
    output = {**check.fields.get("output", {}), **sent.get("output", {})}
    earlier = check.fields.get("output", {}).get("annotations", [])
    output["annotations"] = earlier + sent.get("output", {}).get("annotations", [])
    check.name = sent.get("name", check.name)
    check.fields = {**check.fields, **sent, "output": output}
    if sent.get("conclusion"):
        check.fields["status"] = "completed"
        check.fields.setdefault("completed_at", now())
    elif check.fields["status"] != "completed":
        check.fields.pop("conclusion", None)
        check.fields.pop("completed_at", None)


def known(owner: str, repo: str, number: int) -> CheckRun:
    repository = forge.repository(owner, repo)
    check = forge.service().world.checks.get(number)
    if check is None or check.repository != repository.full_name:
        raise not_found()
    return check


@routes.get(f"{CHECKS}/<int:check_run_id>")
def get(owner: str, repo: str, check_run_id: int) -> Response:
    return forge.answer(check_run(forge.service().world, known(owner, repo, check_run_id)))


@routes.patch(f"{CHECKS}/<int:check_run_id>")
def update(owner: str, repo: str, check_run_id: int) -> Response:
    check = known(owner, repo, check_run_id)
    app_only(forge.repository(owner, repo))
    change(check, forge.sent())
    return forge.answer(check_run(forge.service().world, check))


@routes.get("/repos/<owner>/<repo>/commits/<path:ref>/check-runs")
def of_commit(owner: str, repo: str, ref: str) -> Response:
    """Newest first; `filter=latest` (the default) shows one run of each name."""
    repository, world = forge.repository(owner, repo), forge.service().world
    try:
        sha = git.resolve(repository.path, ref)
    except git.GitError as error:
        raise ApiError(422, f"No commit found for SHA: {ref}") from error
    found = sorted(world.checks_on(repository.full_name, sha), key=lambda check: -check.id)
    found = [check for check in found if request.args.get("check_name", check.name) == check.name]
    if request.args.get("filter", "latest") == "latest":
        newest = {check.name: check for check in reversed(found)}
        found = [check for check in found if newest[check.name] is check]
    return forge.page([check_run(world, check) for check in found], "check_runs")
