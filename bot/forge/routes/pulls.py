"""Pulls: listed, opened, changed, with their commits and files."""

from __future__ import annotations

from flask import Blueprint, Response, request

from bot.forge import git
from bot.forge import service as forge
from bot.forge.answers import commits, talk
from bot.forge.world import Pull, Repository

routes = Blueprint("pulls", __name__)
PULLS = "/repos/<owner>/<repo>/pulls"
PULL = f"{PULLS}/<int:pull_number>"


@routes.get(PULLS)
def listed(owner: str, repo: str) -> Response:
    """Newest first, open ones unless asked otherwise; `head` (owner:branch) and `base` narrow the list."""
    world, repository = forge.service().world, forge.repository(owner, repo)
    state, head, base = request.args.get("state", "open"), request.args.get("head"), request.args.get("base")
    found = [one for one in world.pulls_of(repository.full_name) if state in ("all", one.state)]
    found = [one for one in found if base in (None, one.base_ref) and head in (None, label(one))]
    found.sort(key=lambda one: one.number, reverse=request.args.get("direction", "desc") == "desc")
    return forge.page([talk.pull(world, one, detail=False) for one in found])


def label(one: Pull) -> str:
    return f"{one.head_repository.split('/')[0]}:{one.head_ref}"


@routes.post(PULLS)
def create(owner: str, repo: str) -> Response:
    repository, sent = forge.repository(owner, repo), forge.sent()
    caller = forge.signed_in(repository)
    told = (sent["head"], sent["base"], sent.get("title", ""), sent.get("body") or "", sent.get("draft", False))
    pull = forge.service().actions.open_pull(repository, caller.login, *told)
    return forge.answer(talk.pull(forge.service().world, pull), 201)


@routes.get(PULL)
def get(owner: str, repo: str, pull_number: int) -> Response:
    return forge.answer(talk.pull(forge.service().world, forge.pull(owner, repo, pull_number)))


@routes.patch(PULL)
def update(owner: str, repo: str, pull_number: int) -> Response:
    pull, repository, sent = forge.pull(owner, repo, pull_number), forge.repository(owner, repo), forge.sent()
    caller = forge.signed_in(repository)
    if caller.login != pull.author:
        forge.writer(repository)
    actions = forge.service().actions
    actions.edit_pull(pull, caller.login, sent.get("title", pull.title), sent.get("body", pull.body), sent.get("base", pull.base_ref))
    actions.set_state(pull, caller.login, sent.get("state", pull.state))
    return forge.answer(talk.pull(forge.service().world, pull))


def root(repository: Repository, pull: Pull) -> str:
    return git.merge_base(repository.path, pull.base_ref, pull.head_sha)


@routes.get(f"{PULL}/commits")
def pull_commits(owner: str, repo: str, pull_number: int) -> Response:
    pull, repository, world = forge.pull(owner, repo, pull_number), forge.repository(owner, repo), forge.service().world
    found = git.commits(repository.path, f"{root(repository, pull)}..{pull.head_sha}")
    return forge.page([commits.commit(world, repository, one) for one in reversed(found)])


@routes.get(f"{PULL}/files")
def pull_files(owner: str, repo: str, pull_number: int) -> Response:
    pull, repository, world = forge.pull(owner, repo, pull_number), forge.repository(owner, repo), forge.service().world
    found = git.changes(repository.path, root(repository, pull), pull.head_sha)
    return forge.page([commits.file(world, repository, pull.head_sha, one) for one in found])
