"""Branches, refs, commits, comparisons."""

from __future__ import annotations

from flask import Blueprint, Response

from bot.forge import git
from bot.forge import service as forge
from bot.forge.answers import commits, talk
from bot.forge.errors import ApiError, not_found
from bot.forge.world import Repository

routes = Blueprint("commits", __name__)
REPO = "/repos/<owner>/<repo>"


def resolve(repository: Repository, ref: str) -> str:
    try:
        return git.resolve(repository.path, ref)
    except git.GitError as error:
        raise ApiError(422, f"No commit found for SHA: {ref}") from error


@routes.get(f"{REPO}/branches/<path:branch>")
def branch(owner: str, repo: str, branch: str) -> Response:
    repository = forge.repository(owner, repo)
    tip = git.refs(repository.path).get(branch)
    if tip is None:
        raise ApiError(404, "Branch not found")
    return forge.answer(commits.branch(forge.service().world, repository, branch, tip))


@routes.get(f"{REPO}/git/ref/<path:ref>")
def reference(owner: str, repo: str, ref: str) -> Response:
    repository = forge.repository(owner, repo)
    try:
        sha = git.text(repository.path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"refs/{ref}")
    except git.GitError as error:
        raise not_found() from error
    return forge.answer(commits.reference(forge.service().world, repository, ref, sha))


@routes.get(f"{REPO}/git/commits/<commit_sha>")
def git_commit(owner: str, repo: str, commit_sha: str) -> Response:
    repository = forge.repository(owner, repo)
    try:
        found = git.commit(repository.path, git.resolve(repository.path, commit_sha))
    except git.GitError as error:
        raise not_found() from error
    return forge.answer(commits.git_commit(forge.service().world, repository, found))


@routes.get(f"{REPO}/commits/<path:ref>")
def commit(owner: str, repo: str, ref: str) -> Response:
    repository = forge.repository(owner, repo)
    found = git.commit(repository.path, resolve(repository, ref))
    return forge.answer(commits.commit(forge.service().world, repository, found, detail=True))


@routes.get(f"{REPO}/commits/<commit_sha>/pulls")
def pulls(owner: str, repo: str, commit_sha: str) -> Response:
    """The pulls whose head this commit is."""
    repository, world = forge.repository(owner, repo), forge.service().world
    sha = resolve(repository, commit_sha)
    return forge.page([talk.pull(world, one, detail=False) for one in world.pulls_of(repository.full_name) if one.head_sha == sha])


@routes.get(f"{REPO}/compare/<path:basehead>")
def compare(owner: str, repo: str, basehead: str) -> Response:
    repository = forge.repository(owner, repo)
    base, dots, head = basehead.partition("...")
    if not dots:
        raise not_found()
    try:
        one, other = git.resolve(repository.path, base), git.resolve(repository.path, head)
        return forge.answer(commits.comparison(forge.service().world, repository, one, other))
    except git.GitError as error:
        raise not_found() from error
