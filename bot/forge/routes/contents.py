"""Files and folders of a repository at a ref: base64 in JSON, or raw."""

from __future__ import annotations

import base64
from typing import Any

from flask import Blueprint, Response, request

from bot.forge import git
from bot.forge import service as forge
from bot.forge.answers.commits import api
from bot.forge.errors import ApiError, not_found
from bot.forge.world import Repository

routes = Blueprint("contents", __name__)
MOST = 1 << 20  # larger files come only raw


@routes.get("/repos/<owner>/<repo>/contents/")
@routes.get("/repos/<owner>/<repo>/contents/<path:path>")
def contents(owner: str, repo: str, path: str = "") -> Response:
    repository = forge.repository(owner, repo)
    ref = request.args.get("ref", repository.default_branch)
    try:
        sha = git.resolve(repository.path, ref)
    except git.GitError as error:
        raise ApiError(404, f"No commit found for the ref {ref}") from error
    found = git.entry(repository.path, sha, path)
    if found is None:
        raise not_found()
    if found[0] == "tree":
        return forge.answer([shown(repository, ref, *row) for row in inside(repository, sha, path)])
    return file(repository, ref, path, found[1], found[2])


def inside(repository: Repository, sha: str, path: str) -> list[tuple[str, str, int, str]]:
    return git.entries(repository.path, sha, f"{path.rstrip('/')}/") if path else git.entries(repository.path, sha)


def file(repository: Repository, ref: str, path: str, blob: str, size: int) -> Response:
    data = git.blob(repository.path, blob)
    if "raw" in request.headers.get("Accept", ""):
        return Response(data, mimetype="application/vnd.github.raw+json")
    inline = size <= MOST
    coded = {"encoding": "base64" if inline else "none", "content": base64.encodebytes(data).decode() if inline else ""}
    return forge.answer(shown(repository, ref, "blob", blob, size, path) | coded)


def shown(repository: Repository, ref: str, kind: str, blob: str, size: int, path: str) -> dict[str, Any]:
    world = forge.service().world
    url, html = f"{api(world, repository)}/contents/{path}?ref={ref}", f"{world.url}/{repository.full_name}/blob/{ref}/{path}"
    data = f"{api(world, repository)}/git/{kind}s/{blob}"
    return {
        "type": "dir" if kind == "tree" else "file",
        "size": size,
        "name": path.rsplit("/", 1)[-1],
        "path": path,
        "sha": blob,
        "url": url,
        "git_url": data,
        "html_url": html,
        "download_url": None if kind == "tree" else f"{world.url}/{repository.full_name}/raw/{ref}/{path}",
        "_links": {"self": url, "git": data, "html": html},
    }
