"""Commits, changed files, comparisons and branches, as GitHub's JSON."""

from __future__ import annotations

from typing import Any

from bot.forge import git
from bot.forge.answers.accounts import node_id, user
from bot.forge.wire import PREFIX
from bot.forge.world import Repository, World

UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def api(world: World, repository: Repository) -> str:
    return f"{world.url}{PREFIX}/repos/{repository.full_name}"


def person(who: tuple[str, str, str]) -> dict[str, str]:
    return {"name": who[0], "email": who[1], "date": who[2]}


def account(world: World, who: tuple[str, str, str]) -> dict[str, Any] | None:
    """The account of a commit's name, if there is one."""
    return user(world, who[0]) if who[0] in world.accounts else None


def commit(world: World, repository: Repository, one: git.Commit, detail: bool = False) -> dict[str, Any]:
    url = api(world, repository)
    shown = {
        "sha": one.sha,
        "node_id": node_id("Commit", int(one.sha[:12], 16)),
        "url": f"{url}/commits/{one.sha}",
        "html_url": f"{world.url}/{repository.full_name}/commit/{one.sha}",
        "comments_url": f"{url}/commits/{one.sha}/comments",
        "commit": {
            "author": person(one.author),
            "committer": person(one.committer),
            "message": one.message,
            "tree": {"sha": one.tree, "url": f"{url}/git/trees/{one.tree}"},
            "comment_count": 0,
            "verification": UNSIGNED,
            "url": f"{url}/git/commits/{one.sha}",
        },
        "author": account(world, one.author),
        "committer": account(world, one.committer),
        "parents": [parent(world, repository, sha) for sha in one.parents],
    }
    return shown | (changed(world, repository, one) if detail else {})


def changed(world: World, repository: Repository, one: git.Commit) -> dict[str, Any]:
    """The extra fields of a single commit: what it changed against its first parent."""
    if not one.parents:
        return {"files": [], "stats": {"total": 0, "additions": 0, "deletions": 0}}
    found = git.changes(repository.path, one.parents[0], one.sha)
    plus, minus = sum(change.additions for change in found), sum(change.deletions for change in found)
    files = [file(world, repository, one.sha, change) for change in found]
    return {"files": files, "stats": {"total": plus + minus, "additions": plus, "deletions": minus}}


def parent(world: World, repository: Repository, sha: str) -> dict[str, str]:
    html = f"{world.url}/{repository.full_name}/commit/{sha}"
    return {"sha": sha, "url": f"{api(world, repository)}/commits/{sha}", "html_url": html}


def git_commit(world: World, repository: Repository, one: git.Commit) -> dict[str, Any]:
    """A commit of the git database API."""
    url = api(world, repository)
    return {
        "sha": one.sha,
        "node_id": node_id("Commit", int(one.sha[:12], 16)),
        "url": f"{url}/git/commits/{one.sha}",
        "html_url": f"{world.url}/{repository.full_name}/commit/{one.sha}",
        "author": person(one.author),
        "committer": person(one.committer),
        "tree": {"sha": one.tree, "url": f"{url}/git/trees/{one.tree}"},
        "message": one.message,
        "parents": [parent(world, repository, sha) for sha in one.parents],
        "verification": UNSIGNED,
    }


def file(world: World, repository: Repository, sha: str, change: git.FileChange) -> dict[str, Any]:
    """One changed file of a pull, commit or comparison."""
    html = f"{world.url}/{repository.full_name}"
    shown = {
        "sha": change.blob,
        "filename": change.name,
        "status": change.status,
        "additions": change.additions,
        "deletions": change.deletions,
        "changes": change.additions + change.deletions,
        "blob_url": f"{html}/blob/{sha}/{change.name}",
        "raw_url": f"{html}/raw/{sha}/{change.name}",
        "contents_url": f"{api(world, repository)}/contents/{change.name}?ref={sha}",
        "patch": change.patch,
    }
    return shown | ({"previous_filename": change.previous} if change.previous else {})


def comparison(world: World, repository: Repository, base: str, head: str) -> dict[str, Any]:
    """base...head: the merge base, how far apart, the commits and the files."""
    path, url = repository.path, f"{api(world, repository)}/compare/{base}...{head}"
    root = git.merge_base(path, base, head)
    ahead, behind = git.count(path, f"{base}..{head}"), git.count(path, f"{head}..{base}")
    html = f"{world.url}/{repository.full_name}/compare/{base}...{head}"
    return {
        "url": url,
        "html_url": html,
        "permalink_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "base_commit": commit(world, repository, git.commit(path, base)),
        "merge_base_commit": commit(world, repository, git.commit(path, root)),
        "status": {(True, True): "diverged", (True, False): "ahead", (False, True): "behind"}.get((ahead > 0, behind > 0), "identical"),
        "ahead_by": ahead,
        "behind_by": behind,
        "total_commits": ahead,
        "commits": [commit(world, repository, one) for one in reversed(git.commits(path, f"{base}..{head}"))],
        "files": [file(world, repository, head, change) for change in git.changes(path, root, head)],
    }


def branch(world: World, repository: Repository, name: str, sha: str) -> dict[str, Any]:
    url = f"{api(world, repository)}/branches/{name}"
    return {
        "name": name,
        "commit": commit(world, repository, git.commit(repository.path, sha)),
        "_links": {"self": url, "html": f"{world.url}/{repository.full_name}/tree/{name}"},
        "protected": False,
        "protection": {"enabled": False},
        "protection_url": f"{url}/protection",
    }


def reference(world: World, repository: Repository, name: str, sha: str) -> dict[str, Any]:
    url = api(world, repository)
    return {
        "ref": f"refs/{name}",
        "node_id": node_id("Ref", int(sha[:12], 16)),
        "url": f"{url}/git/refs/{name}",
        "object": {"type": "commit", "sha": sha, "url": f"{url}/git/commits/{sha}"},
    }
